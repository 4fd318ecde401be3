"""What workers run. Only ids are in the queue; what they stand for is in the tables of jobs."""

import asyncio
import signal
from contextlib import suppress
from time import monotonic
from typing import cast
from uuid import UUID

import structlog
from asgiref.sync import sync_to_async
from procrastinate import JobContext
from procrastinate.contrib.django import DjangoApp, app
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.manager import JobManager

from corpus.errors import BackendError, DatabaseUnavailable
from corpus.ingestion.uploaded_files import delete_dropped_files
from corpus.jobs.run import run_job_slice_for_creator
from corpus.jobs.states import cancel_abandoned_jobs, requeue_abandoned_jobs
from corpus.lexical import compact_term_counts
from corpus.models import Collection
from corpus.models.document_counts import compact_document_counts
from corpus.queue import (
    DROP_FILES,
    FILL,
    FILL_PRIORITY,
    HOME_QUEUE,
    QUEUE,
    RUN_JOB,
    add_home_worker,
    enqueue_file_deletion,
    enqueue_job,
    enqueue_token_vectors,
    has_waiting_tasks,
    needs_other_host,
    served_queues,
)
from corpus.sites import refresh_due_sites
from corpus.token_vectors import background_embedder, delete_stale_token_vectors, fill_token_vectors
from corpus.watched.sources import start_due_syncs

log = structlog.get_logger(__name__)

# A worker does one thing at a time: after this long another job gets its turn.
SLICE_S = 20.0
# Where nothing could be done: the embedder is not back yet.
RETRY_DELAY_S = 5


@app.task(name=RUN_JOB, queue=QUEUE, pass_context=True)
def run_job(context: JobContext, job_id: str) -> None:
    """Run a job for one turn; if it did not end, however that came, it is queued again."""
    turn_ends = monotonic() + SLICE_S
    delay_s = RETRY_DELAY_S
    key = UUID(job_id)
    has_ended = False
    if needs_other_host(key):
        # It was queued before there was a queue for it.
        enqueue_job(key)
        return
    try:
        with structlog.contextvars.bound_contextvars(worker=context.job.worker_id):
            has_ended = run_job_slice_for_creator(
                key, should_stop=context.should_abort, is_slice_over=lambda: monotonic() > turn_ends
            )
        if monotonic() > turn_ends or context.should_abort():
            delay_s = 0
    finally:
        if not has_ended:
            enqueue_job(key, delay_s=delay_s)


@app.task(name=FILL, queue=QUEUE, pass_context=True, priority=FILL_PRIORITY)
def fill_collection(context: JobContext, collection_id: int, since: float = 0.0) -> None:
    """Compute token vectors for one turn, or until a job waits; then it is queued again."""
    embedder = background_embedder()
    if embedder is None:
        return
    turn_ends = monotonic() + SLICE_S

    def should_stop() -> bool:
        return context.should_abort() or monotonic() > turn_ends or has_waiting_tasks()

    try:
        is_full = fill_token_vectors(
            collection_id, since=since, embedder=embedder, should_stop=should_stop
        )
    except BackendError as exc:
        # Nothing is worth trying again before a worker starts anew; searches compute their own.
        log.warning("token_vectors_not_filled", collection=collection_id, reason=str(exc))
        return
    if not is_full:
        delay_s = 0 if context.should_abort() else 1
        enqueue_token_vectors(collection_id, since=since, delay_s=delay_s)


@app.periodic(cron="*/5 * * * *")
@app.task(name=DROP_FILES, queue=HOME_QUEUE, queueing_lock=DROP_FILES, pass_context=True)
def drop_files(context: JobContext, timestamp: int) -> None:
    """Remove the files that were sent whose documents other hosts have deleted, for one turn."""
    turn_ends = monotonic() + SLICE_S
    if not delete_dropped_files(
        should_stop=lambda: context.should_abort() or monotonic() > turn_ends
    ):
        enqueue_file_deletion()


@app.periodic(cron="17 * * * *")
@app.task(name="corpus.fill_all", queue=QUEUE, queueing_lock="corpus.fill_all")
def fill_all_collections(timestamp: int) -> None:
    enqueue_all_fillings()


def begin_filling() -> None:
    """Take up what was left, and what other settings have left."""
    embedder = background_embedder()
    if embedder is not None:
        delete_stale_token_vectors(embedder)
        enqueue_all_fillings()


def enqueue_all_fillings() -> None:
    """Have all chunks looked at: some lack again, or a task ran before their ingest's commit."""
    if background_embedder() is not None:
        for collection_id in Collection.objects.values_list("pk", flat=True):
            enqueue_token_vectors(collection_id)


@app.periodic(cron="* * * * *")
@app.task(name="corpus.rescue_jobs", queue=QUEUE, queueing_lock="corpus.rescue_jobs", priority=100)
async def rescue_jobs(timestamp: int) -> None:
    """Put before the workers what killed ones left behind.

    Urgent, or it would wait behind the backlog; and without a ``lock``, which it would hold for
    ever if it were killed itself.
    """
    for stalled in await app.job_manager.get_stalled_jobs():
        await app.job_manager.finish_job(stalled, status=Status.FAILED, delete_job=True)
        if stalled.task_name == FILL:
            await sync_to_async(enqueue_all_fillings)()
    await sync_to_async(recover_abandoned_jobs)()


def recover_abandoned_jobs() -> None:
    """Queue the jobs that nobody holds; end those whose command was killed."""
    cancel_abandoned_jobs()
    requeue_abandoned_jobs()


@app.periodic(cron="* * * * *")
@app.task(name="corpus.sync_sources", queue=HOME_QUEUE, queueing_lock="corpus.sync_sources")
def sync_sources(timestamp: int) -> None:
    start_due_syncs()


@app.periodic(cron="*/5 * * * *")
@app.task(name="corpus.compact_terms", queue=QUEUE, queueing_lock="corpus.compact_terms")
def compact_terms(timestamp: int) -> None:
    compact_term_counts()
    compact_document_counts()


@app.periodic(cron="* * * * *")
@app.task(name="corpus.refresh_sites", queue=QUEUE, queueing_lock="corpus.refresh_sites")
def refresh_sites(timestamp: int) -> None:
    refresh_due_sites()


class _HomeJobManager(JobManager):
    """Of a worker on the host that keeps the files, which says so as it begins."""

    async def register_worker(self) -> int:
        worker_id = await super().register_worker()
        await sync_to_async(add_home_worker)(worker_id)
        return worker_id


async def run_worker() -> None:
    """Run what is in the queues until a signal comes; then end the file at work, and return.

    Raises:
        DatabaseUnavailable: The queue is gone; the log says how.
    """
    # An app of its own: tasks defer through Django's connection, in its transaction, while the
    # worker itself needs one that can listen.
    connector = cast("DjangoConnector", app.connector).get_worker_connector()
    worker_app = DjangoApp(connector=connector)
    worker_app.tasks = app.tasks
    worker_app.periodic_registry = app.periodic_registry
    queues = await sync_to_async(served_queues)()
    if HOME_QUEUE in queues:
        worker_app.job_manager = _HomeJobManager(connector)
    try:
        async with worker_app.open_async():
            await _work_until_told(worker_app, queues)
    except ConnectorException as exc:
        raise DatabaseUnavailable("The worker's queue does not answer.") from exc


async def _work_until_told(worker_app: DjangoApp, queues: list[str]) -> None:
    working = asyncio.create_task(
        worker_app.run_worker_async(
            queues=queues,
            shutdown_graceful_timeout=0,
            delete_jobs="successful",
            install_signal_handlers=False,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    with suppress(asyncio.CancelledError):
        await working
        # By itself it ends where what listens or defers has failed.
        raise DatabaseUnavailable("The worker's queue does not answer.")
