"""Put jobs before the workers; the queue is a table, and part of the transaction that is open."""

from uuid import UUID

from django.db import transaction
from procrastinate import exceptions
from procrastinate.contrib.django import app

QUEUE = "pkb"
RUN_JOB = "corpus.run_job"


def enqueue_job(job_id: UUID, *, delay_s: int = 0) -> None:
    """Ask the workers to run a job, unless it waits for them already."""
    configured = app.configure_task(
        RUN_JOB,
        queue=QUEUE,
        queueing_lock=f"{RUN_JOB}:{job_id}",
        schedule_in={"seconds": delay_s} if delay_s else None,
    )
    try:
        with transaction.atomic():
            configured.defer(job_id=str(job_id))
    except exceptions.AlreadyEnqueued:
        return
