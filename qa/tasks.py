"""Periodic tasks."""

from procrastinate.contrib.django import app

from corpus.queue import QUEUE
from qa.grids import fill_changed_grids
from qa.retention import purge


@app.periodic(cron="*/5 * * * *")
@app.task(name="qa.purge_expired", queue=QUEUE, queueing_lock="qa.purge_expired", priority=50)
def purge_expired(timestamp: int) -> None:
    """Delete expired sessions and streams, and data older than ``PKB_RETENTION_DAYS``."""
    purge()


@app.periodic(cron="* * * * *")
@app.task(name="qa.fill_grids", queue=QUEUE, queueing_lock="qa.fill_grids")
def fill_grids(timestamp: int) -> None:
    fill_changed_grids()
