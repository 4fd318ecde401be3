"""Put work before the workers; the queue is a table, and part of the transaction that is open."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce, Greatest, Now
from procrastinate import exceptions
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker

from corpus.access.principal import SYSTEM, acting_as
from corpus.models import Job
from corpus.models.installations import Installation
from corpus.postgres.prepared import fetch_prepared

QUEUE = "pkb"
# What only workers of the host can do that has the files of the installation.
HOME_QUEUE = "pkb-home"
RUN_JOB = "corpus.run_job"
DROP_FILES = "corpus.drop_files"
FILL = "corpus.fill_token_vectors"
# Behind all that somebody waits for: the least that there is.
FILL_PRIORITY = -(2**31)
# A worker notes every ten seconds that it lives, also while it is at work; Procrastinate takes one
# for dead after as long.
HEARTBEAT_TIMEOUT = timedelta(seconds=30)

# Makers are served by rounds, a task of each in a round, and rounds are numbered downwards: what
# goes first has the greater number. Who comes anew joins the round that is being served.
_NEXT_ROUND = """
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
_ASKED = "SELECT FROM procrastinate_jobs WHERE status = 'todo' AND queueing_lock = %s"


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that runs what is in the queue; one that was told to end is not there any more.

    Attributes:
        silent: For how long it has not said that it lives, by the database's clock.
        task: What it runs; empty while it waits.
        job_id: The job that it runs, if it runs one.
        is_home: It is of the host that keeps the files.
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
    """What waits for a worker; the filling of token vectors, which is behind all, is not counted.

    Attributes:
        oldest: For how long the first of it could have been begun; None where nothing waits.
        home_oldest: The same of what only workers of the host can do that keeps the files.
        failed_count: Tasks that broke off by an error that nobody foresaw, since ever.
    """

    waiting_count: int
    oldest: timedelta | None
    failed_count: int
    home_oldest: timedelta | None = None


def list_workers() -> list[Worker]:
    """Return the workers, the one that was heard of last first."""
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
            *_name_task(*tasks.get(row.id, ("", {}))),
            is_home=row.id in home,
        )
        for row in rows
    ]


def _name_task(task: str, arguments: dict[str, Any]) -> tuple[str, str | None]:
    return task, arguments.get("job_id")


def read_backlog() -> Backlog:
    """Return what waits for a worker."""
    deferred = Max("procrastinateevent__at", filter=Q(procrastinateevent__type="deferred"))
    waiting = _awaited((QUEUE, HOME_QUEUE)).annotate(since=Greatest(deferred, "scheduled_at"))
    at_home = Min("since", filter=Q(queue_name=HOME_QUEUE))
    found = waiting.aggregate(
        count=Count("pk"), oldest=Now() - Min("since"), home_oldest=Now() - at_home
    )
    ours = ProcrastinateJob.objects.filter(queue_name__in=(QUEUE, HOME_QUEUE))
    failed_count = ours.filter(status="failed").count()
    return Backlog(found["count"], found["oldest"], failed_count, found["home_oldest"])


def enqueue_job(job_id: UUID, *, delay_s: int = 0) -> None:
    """Ask the workers to run a job, unless it waits for them already.

    It goes behind what its maker has there, and in turns with the jobs of other makers. What nobody
    made is its collection's owner's.
    """
    lock = f"{RUN_JOB}:{job_id}"
    _enqueue(
        RUN_JOB,
        lock,
        queue=_queue_of(job_id),
        delay_s=delay_s,
        priority=_next_round(job_id),
        job_id=str(job_id),
    )


def _next_round(job_id: UUID) -> int:
    with acting_as(SYSTEM), connection.cursor() as cursor:
        maker = Job.objects.filter(pk=job_id).values_list(
            Coalesce("made_by", "collection__owner"), flat=True
        )
        cursor.execute(_NEXT_ROUND, {"maker": maker.first(), "job": job_id, "task": RUN_JOB})
        return int(cursor.fetchone()[0])


def _queue_of(job_id: UUID) -> str:
    with acting_as(SYSTEM):
        kind = Job.objects.filter(pk=job_id).values_list("kind", flat=True).first()
    return HOME_QUEUE if kind in Job.READING_FILES else QUEUE


def needs_other_host(job_id: UUID) -> bool:
    """Tell whether a job reads files that this host has not, whatever queue it came from."""
    return _queue_of(job_id) == HOME_QUEUE and not Installation.objects.owns_files()


def enqueue_file_deletion() -> None:
    """Ask the host that keeps files to remove what is noted, unless it is asked."""
    if not _is_asked(DROP_FILES):
        _enqueue(DROP_FILES, DROP_FILES, queue=HOME_QUEUE, timestamp=0)


def enqueue_token_vectors(collection_id: int, *, since: float = 0.0, delay_s: int = 0) -> None:
    """Ask the workers for the token vectors that a collection lacks, unless they are asked.

    Args:
        since: In seconds since 1970: only chunks that were made then or later are looked at.
    """
    lock = f"{FILL}:{collection_id}:{'new' if since else 'all'}"
    if not _is_asked(lock):
        _enqueue(
            FILL,
            lock,
            delay_s=delay_s,
            priority=FILL_PRIORITY,
            collection_id=collection_id,
            since=since,
        )


def add_home_worker(worker_id: int) -> None:
    """Keep that a worker is of the host that keeps the files, for who looks after it."""
    there = ProcrastinateWorker.objects.values_list("id", flat=True)
    Installation.objects.add_home_worker(worker_id, read_known=lambda: set(there))


def served_queues() -> list[str]:
    """Return the queues that a worker on this host can serve."""
    return [QUEUE, HOME_QUEUE] if Installation.objects.owns_files() else [QUEUE]


def has_waiting_tasks() -> bool:
    """Tell whether work that goes before filling could be begun here and now."""
    return _awaited(served_queues()).exists()


def _is_asked(lock: str) -> bool:
    """Tell whether a task waits; of what is asked often a look is cheaper than a failed insert."""
    return bool(fetch_prepared(_ASKED, [lock]))


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
        _bring_forward(lock, delay_s=delay_s)


def _bring_forward(lock: str, *, delay_s: int) -> None:
    """Have a task that waits already begin no later than is asked for now.

    Its time is by the clock of who asked first, which may have been set back by hours since.
    """
    latest = Now() + timedelta(seconds=delay_s)
    waiting = ProcrastinateJob.objects.filter(status="todo", queueing_lock=lock)
    waiting.filter(scheduled_at__gt=latest).update(scheduled_at=latest)
