"""Periodic tasks."""

from time import monotonic

from procrastinate import JobContext
from procrastinate.contrib.django import app

from corpus.queue import QUEUE
from qa.grids import fill_changed_grids
from qa.retention import purge
from qa.standing_questions import ask_changed_questions

# A worker runs one task at a time; after so long, others get their turn until the next minute.
SLICE_S = 20.0


@app.periodic(cron="*/5 * * * *")
@app.task(name="qa.purge_expired", queue=QUEUE, queueing_lock="qa.purge_expired", priority=50)
def purge_expired(timestamp: int) -> None:
    """Delete expired sessions and streams, and data older than ``PKB_RETENTION_DAYS``."""
    purge()


@app.periodic(cron="* * * * *")
@app.task(name="qa.fill_grids", queue=QUEUE, queueing_lock="qa.fill_grids")
def fill_grids(timestamp: int) -> None:
    fill_changed_grids()


@app.periodic(cron="* * * * *")
@app.task(name="qa.ask_standing", queue=QUEUE, queueing_lock="qa.ask_standing", pass_context=True)
def ask_standing(context: JobContext, timestamp: int) -> None:
    slice_ends = monotonic() + SLICE_S
    ask_changed_questions(should_stop=lambda: context.should_abort() or monotonic() > slice_ends)
