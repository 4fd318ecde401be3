"""Periodic tasks."""

from procrastinate.contrib.django import app

from corpus.queue import QUEUE
from qa.retention import purge


@app.periodic(cron="*/5 * * * *")
@app.task(name="qa.purge_expired", queue=QUEUE, queueing_lock="qa.purge_expired", priority=50)
def purge_expired(timestamp: int) -> None:
    """Delete expired sessions and streams, and data older than ``PKB_RETENTION_DAYS``."""
    purge()
