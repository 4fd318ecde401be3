"""Start a sync of each watched folder that changed, in one process of all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import PkbError
from corpus.ingestion.folder_mirror import BEING_WRITTEN, SyncOptions
from corpus.ingestion.outcomes import Outcome
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.states import delete_old_jobs
from corpus.models import Job, WatchedFolder
from corpus.postgres import try_session_lock
from corpus.roots.file_systems import mount_points_in
from corpus.watched.changes import FolderWatcher
from corpus.watched.folders import WATCHER_LOCK, save_configured_folders

log = structlog.get_logger(__name__)

TICK_S = 0.5
# Delay if no folder is watched, another process watches, or the database is down.
REST_S = 3.0
# File systems may lose events, so each folder is also synced at this interval.
SYNC_EVERY_S = 3_600.0

State = WatchedFolder.State


@dataclass
class _FolderState:
    """State of a watched folder; times are ``monotonic``.

    Attributes:
        running: The running sync, if any.
        not_before: Earliest next sync, to leave workers time for other jobs: as long as the last
        one took.
    """

    watch: FolderWatcher
    running: Job | None = None
    not_before: float = 0.0
    synced_at: float = field(default_factory=monotonic)


@contextmanager
def watch_in_background() -> Iterator[None]:
    """Watch in a thread until the block ends, unless another process watches."""
    stopped = Event()
    thread = Thread(target=_run, args=[stopped], name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _run(stopped: Event) -> None:
    while not stopped.is_set():
        try:
            with acting_as(SYSTEM), try_session_lock(*WATCHER_LOCK) as is_mine:
                if is_mine:
                    save_configured_folders()
                    watch_folders(stopped)
        except (DatabaseError, PkbError) as exc:
            log.warning("watching_broken_off", reason=str(exc))
        finally:
            connection.close()
        stopped.wait(REST_S)


def watch_folders(stopped: Event) -> None:
    """Watch the stored folders as long as the database is available.

    Raises:
        DatabaseError: The database is not available.
    """
    states: dict[int, _FolderState] = {}
    try:
        while not stopped.is_set():
            folders = {each.pk: each for each in WatchedFolder.objects.all()}
            for key in states.keys() - folders.keys():
                states.pop(key).watch.stop()
            for key, folder in folders.items():
                if key not in states:
                    watch = FolderWatcher(Path(folder.path), root=Path(folder.root or folder.path))
                    watch.start()
                    states[key] = _FolderState(watch)
                _sync_if_due(folder, states[key])
            stopped.wait(TICK_S if folders else REST_S)
    finally:
        for each in states.values():
            each.watch.stop()


def _sync_if_due(folder: WatchedFolder, state: _FolderState) -> None:
    """Start a sync of a folder, or look whether the one that runs has finished."""
    watch, now = state.watch, monotonic()
    if watch.state != folder.state:
        WatchedFolder.objects.filter(pk=folder.pk).update(state=watch.state)
    if state.running is not None:
        job = Job.objects.filter(pk=state.running.pk).first()
        if job is None or not job.is_unfinished:
            state.running = None
        if job and not job.is_unfinished:
            if job.started_at and job.finished_at:
                took_s = (job.finished_at - job.started_at).total_seconds()
                state.not_before = monotonic() + took_s
            # Files that are left for another sync.
            if BEING_WRITTEN in job.skipped or job.items.filter(outcome=Outcome.WAITING).exists():
                watch.pending.note(monotonic())
    if now - state.synced_at >= SYNC_EVERY_S:
        state.synced_at = now
        watch.pending.note(now)
    may_start = state.running is None and now >= state.not_before
    is_due = watch.pending.is_due(now, quiet_s=settings.PKB_WATCH_QUIET_S)
    if may_start and is_due and watch.state != State.MISSING:
        # Before the sync reads: changes while it runs belong to the next one.
        state.running = _start_sync(folder.pk, on_start=watch.pending.take)
        state.synced_at = now


@transaction.atomic
def _start_sync(folder_id: int, *, on_start: Callable[[], None]) -> Job | None:
    """Start a sync, unless one is queued or running; return it."""
    rows = WatchedFolder.objects.select_for_update(of=("self",)).select_related("collection")
    folder = rows.filter(pk=folder_id).first()
    if folder is None:
        return None
    syncs = Job.objects.filter(
        kind=Job.Kind.SYNC, collection=folder.collection_id, arguments__paths=[folder.path]
    )
    if syncs.unfinished().exists():
        return None
    on_start()
    delete_old_jobs(syncs.filter(arguments__quiet_s__gt=0))
    mounted = map(str, mount_points_in(Path(folder.path)))
    folder.mounts = sorted({*folder.mounts, *mounted})
    options = SyncOptions(
        paths=(folder.path,),
        root=folder.root,
        mirror=True,
        quiet_s=settings.PKB_WATCH_QUIET_S,
        mounts=tuple(folder.mounts),
    )
    folder.job = start_sync(folder.collection, options)
    folder.save(update_fields=["mounts", "job"])
    return folder.job
