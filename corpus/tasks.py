"""Tasks of the workers. The queue contains only ids of rows in other tables."""

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
from corpus.models import Collection, DocumentCount, Installation
from corpus.queue import (
    DROP_FILES,
    FILL,
    FILL_PRIORITY,
    HOME_QUEUE,
    QUEUE,
    RUN_JOB,
    SEND_WEBHOOKS,
    add_home_worker,
    enqueue_file_deletion,
    enqueue_job,
    enqueue_token_vectors,
    enqueue_webhooks,
    has_waiting_tasks,
    queue_of,
    served_queues,
)
from corpus.sites import refresh_due_sites
from corpus.token_vectors import background_embedder, delete_stale_token_vectors, fill_token_vectors
from corpus.watched.due_syncs import start_due_syncs
from corpus.webhooks import send_due

log = structlog.get_logger(__name__)

# A worker runs one task at a time; after so long, another job gets its turn.
SLICE_S = 20.0
# Delay if nothing could be done, for example because the embedder fails.
RETRY_DELAY_S = 5
# Slow receivers of webhooks get at most a quarter of a worker's time.
WEBHOOK_SLICE_S = 5.0
WEBHOOK_PAUSE_S = 15


@app.task(name=RUN_JOB, queue=QUEUE, pass_context=True)
def run_job(context: JobContext, job_id: str) -> None:
    """Run a job for one time slice; queue it again if it is unfinished, for whatever reason."""
    slice_ends = monotonic() + SLICE_S
    delay_s = RETRY_DELAY_S
    key = UUID(job_id)
    has_ended = False
    if queue_of(key) == HOME_QUEUE and not Installation.objects.owns_files():
        # An earlier version put it into the wrong queue.
        enqueue_job(key)
        return
    try:
        with structlog.contextvars.bound_contextvars(worker=context.job.worker_id):
            has_ended = run_job_slice_for_creator(
                key,
                should_stop=context.should_abort,
                is_slice_over=lambda: monotonic() > slice_ends,
            )
        if monotonic() > slice_ends or context.should_abort():
            delay_s = 0
    finally:
        if not has_ended:
            enqueue_job(key, delay_s=delay_s)


@app.task(name=FILL, queue=QUEUE, pass_context=True, priority=FILL_PRIORITY)
def fill_collection(context: JobContext, collection_id: int, since: float = 0.0) -> None:
    """Compute token vectors for one time slice, or until a job waits; then queue the rest."""
    embedder = background_embedder()
    if embedder is None:
        return
    slice_ends = monotonic() + SLICE_S
    try:
        is_full = fill_token_vectors(
            collection_id,
            since=since,
            embedder=embedder,
            should_stop=lambda: (
                context.should_abort() or monotonic() > slice_ends or has_waiting_tasks()
            ),
        )
    except BackendError as exc:
        # Retried when a worker restarts; until then searches compute the vectors themselves.
        log.warning("token_vectors_not_filled", collection=collection_id, reason=str(exc))
        return
    if not is_full:
        delay_s = 0 if context.should_abort() else 1
        enqueue_token_vectors(collection_id, since=since, delay_s=delay_s)


@app.periodic(cron="*/5 * * * *")
@app.task(name=DROP_FILES, queue=HOME_QUEUE, queueing_lock=DROP_FILES, pass_context=True)
def drop_files(context: JobContext, timestamp: int) -> None:
    """Delete the uploaded files of documents that other hosts have deleted, for one time slice."""
    slice_ends = monotonic() + SLICE_S
    if not delete_dropped_files(
        should_stop=lambda: context.should_abort() or monotonic() > slice_ends
    ):
        enqueue_file_deletion()


@app.periodic(cron="17 * * * *")
@app.task(name="corpus.fill_all", queue=QUEUE, queueing_lock="corpus.fill_all")
def fill_all_collections(timestamp: int = 0) -> None:
    """Queue missing token vectors of all collections; single tasks may have missed some."""
    if background_embedder() is not None:
        for collection_id in Collection.objects.values_list("pk", flat=True):
            enqueue_token_vectors(collection_id)


def begin_filling() -> None:
    """Delete stale token vectors and queue missing ones, when a worker starts."""
    embedder = background_embedder()
    if embedder is not None:
        delete_stale_token_vectors(embedder)
        fill_all_collections()


@app.periodic(cron="* * * * *")
@app.task(name="corpus.rescue_jobs", queue=QUEUE, queueing_lock="corpus.rescue_jobs", priority=100)
async def rescue_jobs(timestamp: int) -> None:
    """Queue the tasks and jobs of killed workers again.

    It has a high priority, so that it does not wait behind the backlog, and no ``lock``, which it
    would hold forever if it were killed.
    """
    for stalled in await app.job_manager.get_stalled_jobs():
        await app.job_manager.finish_job(stalled, status=Status.FAILED, delete_job=True)
        if stalled.task_name == FILL:
            await sync_to_async(fill_all_collections)()
    await sync_to_async(recover_abandoned_jobs)()


def recover_abandoned_jobs() -> None:
    """Queue abandoned jobs; cancel those of killed commands."""
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
    DocumentCount.objects.compact()


@app.periodic(cron="* * * * *")
@app.task(name="corpus.refresh_sites", queue=QUEUE, queueing_lock="corpus.refresh_sites")
def refresh_sites(timestamp: int) -> None:
    refresh_due_sites()


@app.periodic(cron="* * * * *")
@app.task(name=SEND_WEBHOOKS, queue=QUEUE, queueing_lock=SEND_WEBHOOKS, pass_context=True)
def send_webhooks(context: JobContext, timestamp: int) -> None:
    slice_ends = monotonic() + WEBHOOK_SLICE_S
    if not send_due(should_stop=lambda: context.should_abort() or monotonic() > slice_ends):
        enqueue_webhooks(delay_s=0 if context.should_abort() else WEBHOOK_PAUSE_S)


class _HomeJobManager(JobManager):
    """Registers a worker as one of the host that stores the files."""

    async def register_worker(self) -> int:
        worker_id = await super().register_worker()
        await sync_to_async(add_home_worker)(worker_id)
        return worker_id


async def run_worker() -> None:
    """Run tasks until a signal; then finish the current file and return.

    Raises:
        DatabaseUnavailable: The queue fails; the log contains the reason.
    """
    # A separate app: tasks are queued in Django's transaction, while the worker needs a connection
    # that can listen.
    connector = cast("DjangoConnector", app.connector).get_worker_connector()
    worker_app = DjangoApp(connector=connector)
    worker_app.tasks = app.tasks
    worker_app.periodic_registry = app.periodic_registry
    queues = await sync_to_async(served_queues)()
    if HOME_QUEUE in queues:
        worker_app.job_manager = _HomeJobManager(connector)
    try:
        async with worker_app.open_async():
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
                # It ends without a signal if its listener or scheduler has failed.
                raise DatabaseUnavailable("The worker's queue does not answer.")
    except ConnectorException as exc:
        raise DatabaseUnavailable("The worker's queue does not answer.") from exc
