"""The task queue: a table, written within the open transaction."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce, Greatest, Now
from procrastinate import exceptions
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker

from corpus.access.principal import SYSTEM, acting_as
from corpus.models import Installation, Job
from corpus.postgres import execute, fetch_prepared

QUEUE = "pkb"
# Tasks for workers of the host that stores the files.
HOME_QUEUE = "pkb-home"
RUN_JOB = "corpus.run_job"
DROP_FILES = "corpus.drop_files"
FILL = "corpus.fill_token_vectors"
SEND_WEBHOOKS = "corpus.send_webhooks"
# The lowest priority, behind all tasks that users wait for.
FILL_PRIORITY = -(2**31)
# A worker sends a heartbeat every ten seconds; Procrastinate uses the same timeout.
HEARTBEAT_TIMEOUT = timedelta(seconds=30)

# Round robin over creators: each round has one task of each. Rounds count down, since a higher
# priority runs first. A new creator joins the current round.
_NEXT_PRIORITY = """
SELECT coalesce(least(
         min(priority) FILTER (WHERE coalesce(made_by_id, owner_id) IS NOT DISTINCT FROM %(maker)s)
           - 1,
         coalesce(min(priority) FILTER (WHERE q.status = 'doing' AND j.id <> %(job)s),
                  max(priority) FILTER (WHERE q.status = 'todo'))), 0)
  FROM procrastinate_jobs q
  JOIN corpus_job j ON j.id = (q.args->>'job_id')::uuid
  JOIN corpus_collection c ON c.id = j.collection_id
 WHERE q.task_name = %(task)s AND q.status IN ('todo', 'doing')
"""
_IS_QUEUED = "SELECT FROM procrastinate_jobs WHERE status = 'todo' AND queueing_lock = %s"


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process that has not been stopped.

    Attributes:
        silent: Time since its last heartbeat, by the database's clock.
        task: Name of its current task; empty while it waits.
        job_id: Id of its current job, if any.
        is_home: It runs on the host that stores the files.
    """

    id: int
    last_heartbeat: datetime
    silent: timedelta
    task: str = ""
    job_id: str | None = None
    is_home: bool = False

    @property
    def is_alive(self) -> bool:
        return self.silent < HEARTBEAT_TIMEOUT


@dataclass(frozen=True, slots=True)
class Backlog:
    """Waiting tasks, without those that compute token vectors.

    Attributes:
        oldest: How long the first task has waited; None without tasks.
        home_oldest: The same for tasks of the host that stores the files.
        failed_count: Number of tasks that ended with an unexpected error.
    """

    waiting_count: int
    oldest: timedelta | None
    failed_count: int
    home_oldest: timedelta | None = None


def list_workers() -> list[Worker]:
    """Return the workers, by their last heartbeat."""
    silent = ExpressionWrapper(Now() - F("last_heartbeat"), output_field=DurationField())
    rows = ProcrastinateWorker.objects.annotate(silent=silent).order_by("silent", "id")
    running = ProcrastinateJob.objects.filter(status="doing", worker__isnull=False)
    tasks = {
        key: (task, args) for key, task, args in running.values_list("worker", "task_name", "args")
    }
    home = Installation.objects.home_workers()
    return [
        Worker(
            row.id,
            row.last_heartbeat,
            row.silent,
            task=tasks[row.id][0] if row.id in tasks else "",
            job_id=tasks[row.id][1].get("job_id") if row.id in tasks else None,
            is_home=row.id in home,
        )
        for row in rows
    ]


def read_backlog() -> Backlog:
    """Return the waiting and failed tasks."""
    deferred = Max("procrastinateevent__at", filter=Q(procrastinateevent__type="deferred"))
    waiting = _awaited((QUEUE, HOME_QUEUE)).annotate(since=Greatest(deferred, "scheduled_at"))
    at_home = Min("since", filter=Q(queue_name=HOME_QUEUE))
    values = waiting.aggregate(
        count=Count("pk"), oldest=Now() - Min("since"), home_oldest=Now() - at_home
    )
    ours = ProcrastinateJob.objects.filter(queue_name__in=(QUEUE, HOME_QUEUE))
    failed_count = ours.filter(status="failed").count()
    return Backlog(values["count"], values["oldest"], failed_count, values["home_oldest"])


def enqueue_job(job_id: UUID, *, delay_s: int = 0) -> None:
    """Queue a job, unless it is queued already.

    It waits behind other jobs of its creator, and in turns with those of other creators. A job
    without a creator counts for the owner of its collection.
    """
    with acting_as(SYSTEM):
        maker = Job.objects.filter(pk=job_id).values_list(
            Coalesce("made_by", "collection__owner"), flat=True
        )
        values = {"maker": maker.first(), "job": job_id, "task": RUN_JOB}
        [(priority,)] = execute(_NEXT_PRIORITY, values)
    _enqueue(
        RUN_JOB,
        f"{RUN_JOB}:{job_id}",
        queue=queue_of(job_id),
        delay_s=delay_s,
        priority=int(priority),
        job_id=str(job_id),
    )


def queue_of(job_id: UUID) -> str:
    """Return the queue of a job: that of the host with the files, if it reads some."""
    with acting_as(SYSTEM):
        kind = Job.objects.filter(pk=job_id).values_list("kind", flat=True).first()
    return HOME_QUEUE if kind in Job.READING_FILES else QUEUE


def enqueue_file_deletion() -> None:
    """Queue the deletion of dropped files on the host that stores them, unless it is queued."""
    if not _is_queued(DROP_FILES):
        _enqueue(DROP_FILES, DROP_FILES, queue=HOME_QUEUE, timestamp=0)


def enqueue_webhooks(*, delay_s: int = 0) -> None:
    """Queue the sending of what webhooks are to tell, unless it is queued."""
    if not _is_queued(SEND_WEBHOOKS):
        _enqueue(SEND_WEBHOOKS, SEND_WEBHOOKS, delay_s=delay_s, timestamp=0)


def enqueue_token_vectors(collection_id: int, *, since: float = 0.0, delay_s: int = 0) -> None:
    """Queue the missing token vectors of a collection, unless they are queued.

    Args:
        since: Unix time; only chunks created since then are checked.
    """
    lock = f"{FILL}:{collection_id}:{'new' if since else 'all'}"
    if not _is_queued(lock):
        _enqueue(
            FILL,
            lock,
            delay_s=delay_s,
            priority=FILL_PRIORITY,
            collection_id=collection_id,
            since=since,
        )


def add_home_worker(worker_id: int) -> None:
    """Register a worker of the host that stores the files; drop those that have ended."""
    with acting_as(SYSTEM), transaction.atomic():
        Installation.objects.get_or_create(pk=1)
        [row] = Installation.objects.select_for_update()
        # Other workers may have started before the row was locked.
        known = set(ProcrastinateWorker.objects.values_list("id", flat=True))
        row.home_workers = [*(key for key in row.home_workers if key in known), worker_id]
        row.save(update_fields=["home_workers"])


def served_queues() -> list[str]:
    """Return the queues of workers on this host."""
    return [QUEUE, HOME_QUEUE] if Installation.objects.owns_files() else [QUEUE]


def has_waiting_tasks() -> bool:
    """Return whether this host's workers have waiting tasks other than token vectors."""
    return _awaited(served_queues()).exists()


def _is_queued(lock: str) -> bool:
    """Return whether a task is queued; this is cheaper than a failed insert."""
    return bool(fetch_prepared(_IS_QUEUED, [lock]))


def _awaited(queues: Iterable[str]) -> "QuerySet[ProcrastinateJob]":
    waiting = ProcrastinateJob.objects.filter(
        status="todo", queue_name__in=queues, priority__gt=FILL_PRIORITY
    )
    return waiting.filter(Q(scheduled_at=None) | Q(scheduled_at__lte=Now()))


def _enqueue(
    task: str,
    lock: str,
    *,
    queue: str = QUEUE,
    delay_s: int = 0,
    priority: int = 0,
    **arguments: str | float,
) -> None:
    configured = app.configure_task(
        task,
        queue=queue,
        queueing_lock=lock,
        priority=priority,
        schedule_in={"seconds": delay_s} if delay_s else None,
    )
    try:
        with transaction.atomic():
            configured.defer(**arguments)
    except exceptions.AlreadyEnqueued:
        # Start it no later than ``delay_s`` from now. Its time is by the clock of the process that
        # queued it, which may have been wrong.
        latest = Now() + timedelta(seconds=delay_s)
        waiting = ProcrastinateJob.objects.filter(status="todo", queueing_lock=lock)
        waiting.filter(scheduled_at__gt=latest).update(scheduled_at=latest)
