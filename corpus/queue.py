"""Put work before the workers; the queue is a table, and part of the transaction that is open."""

from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from procrastinate import exceptions
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob

QUEUE = "pkb"
RUN_JOB = "corpus.run_job"
FILL = "corpus.fill_token_vectors"
# Behind all that somebody waits for, which has 0.
FILL_PRIORITY = -10


def enqueue_job(job_id: UUID, *, delay_s: int = 0) -> None:
    """Ask the workers to run a job, unless it waits for them already."""
    _enqueue(RUN_JOB, f"{RUN_JOB}:{job_id}", delay_s=delay_s, job_id=str(job_id))


def enqueue_filling(collection_id: int, *, since: float = 0.0, delay_s: int = 0) -> None:
    """Ask the workers for the token vectors that a collection lacks, unless they are asked.

    Args:
        since: In seconds since 1970: only chunks that were made then or later are looked at.
    """
    lock = f"{FILL}:{collection_id}:{'new' if since else 'all'}"
    # Every ingest asks: a look is cheaper than an insert that fails.
    if not ProcrastinateJob.objects.filter(status="todo", queueing_lock=lock).exists():
        _enqueue(
            FILL,
            lock,
            delay_s=delay_s,
            priority=FILL_PRIORITY,
            collection_id=collection_id,
            since=since,
        )


def is_awaited() -> bool:
    """Tell whether work that goes before filling could be begun now."""
    waiting = ProcrastinateJob.objects.filter(
        status="todo", queue_name=QUEUE, priority__gt=FILL_PRIORITY
    )
    return waiting.filter(Q(scheduled_at=None) | Q(scheduled_at__lte=Now())).exists()


def _enqueue(
    task: str, lock: str, *, delay_s: int = 0, priority: int = 0, **arguments: str | float
) -> None:
    configured = app.configure_task(
        task,
        queue=QUEUE,
        queueing_lock=lock,
        priority=priority,
        schedule_in={"seconds": delay_s} if delay_s else None,
    )
    try:
        with transaction.atomic():
            configured.defer(**arguments)
    except exceptions.AlreadyEnqueued:
        return
