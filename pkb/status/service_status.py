"""Current status of the service, and its problems."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from django.utils.timesince import timesince

from corpus.queue import HEARTBEAT_TIMEOUT, Backlog, Worker, list_workers, read_backlog
from pkb.backup.rotation import Backups, read_backups
from pkb.postgres.programs import PostgresDidNotStart
from pkb.preload import are_models_loaded

# The alerts in deploy/prometheus have the same bounds; a test compares them.
# OCR of 1,000 pages takes a worker fifty minutes (docs/guides/workers.md).
MAX_WAIT = timedelta(hours=1)
# PostgreSQL stops on a full disk, and a backup needs as much space as the database.
MIN_FREE_SHARE = 0.1
# A late backup may still come; two missed intervals are a problem.
BACKUP_INTERVALS = 2

# Includes the embedded server, which may fail to start, for example on a full disk.
DATABASE_ERRORS = (DatabaseError, InterfaceError, PostgresDidNotStart)


class Problem(StrEnum):
    """Kinds of problems; each has an alert of the same name in deploy/prometheus."""

    DATABASE_AWAY = "database_away"
    MODELS_NOT_LOADED = "models_not_loaded"
    NO_WORKER = "no_worker"
    HOME_UNSERVED = "home_unserved"
    QUEUE_WAITS = "queue_waits"
    DISK_FILLS = "disk_fills"
    BACKUP_OLD = "backup_old"
    BACKUP_FAILED = "backup_failed"


class Finding(NamedTuple):
    problem: Problem
    detail: str


@dataclass(frozen=True, slots=True)
class Disk:
    """Space of a folder's disk.

    Attributes:
        use: Contents of the folder: data, database or backups.
    """

    use: str
    free_bytes: int
    size_bytes: int

    @property
    def free_share(self) -> float:
        return self.free_bytes / self.size_bytes if self.size_bytes else 0.0


@dataclass(frozen=True, slots=True)
class State:
    """Status of the service.

    Attributes:
        workers: None if the database is unavailable.
        backlog: None if the database is unavailable.
        backups: None if automatic backups are off.
    """

    models_loaded: bool
    workers: list[Worker] | None
    backlog: Backlog | None
    disks: list[Disk]
    backups: Backups | None
    backup_interval: timedelta

    @property
    def alive_count(self) -> int:
        """Number of workers with a recent heartbeat."""
        return sum(worker.is_alive for worker in self.workers or ())

    @property
    def home_alive_count(self) -> int:
        """Number of these workers on the host that has the files."""
        return sum(worker.is_alive and worker.is_home for worker in self.workers or ())

    def find_problems(self) -> Iterator[Finding]:
        if not self.models_loaded:
            yield Finding(
                Problem.MODELS_NOT_LOADED, "The models are still loading, or failed to load."
            )
        if self.workers is None or self.backlog is None:
            yield Finding(Problem.DATABASE_AWAY, "The database does not answer.")
        elif not self.alive_count:
            yield Finding(Problem.NO_WORKER, "No worker runs: background jobs wait.")
        oldest = home_oldest = timedelta(0)
        if self.workers is not None and self.backlog is not None:
            oldest = self.backlog.oldest or oldest
            home_oldest = self.backlog.home_oldest or home_oldest
        is_home_served = self.home_alive_count or not self.alive_count
        if home_oldest > HEARTBEAT_TIMEOUT and not is_home_served:
            yield Finding(
                Problem.HOME_UNSERVED,
                "No worker runs on the host that has the files: its tasks have waited for"
                f" {_humanize(home_oldest)}.",
            )
        if oldest > MAX_WAIT:
            yield Finding(
                Problem.QUEUE_WAITS, f"A task has waited for a worker for {_humanize(oldest)}."
            )
        for disk in self.disks:
            if disk.free_share < MIN_FREE_SHARE:
                free = f"{disk.free_bytes:,} bytes ({disk.free_share:.0%}) free"
                yield Finding(Problem.DISK_FILLS, f"The disk of the {disk.use} has {free}.")
        if self.backups is not None:
            age, max_age = self.backups.age, BACKUP_INTERVALS * self.backup_interval
            if self.backups.failure:
                reason = f"The last backup failed: {self.backups.failure}"
                yield Finding(Problem.BACKUP_FAILED, reason)
            if age is not None and age > max_age:
                yield Finding(Problem.BACKUP_OLD, f"The last good backup is {_humanize(age)} old.")


def read_state() -> State:
    """Return the status; unavailable parts are None."""
    was_open = connection.connection is not None
    workers = backlog = None
    try:
        with suppress(*DATABASE_ERRORS):
            workers, backlog = list_workers(), read_backlog()
    finally:
        # The thread of an exporter has no request that would close its connection.
        if not was_open:
            connection.close()
    backup_dir = settings.PKB_BACKUP_DIR
    folders = {
        "data": settings.DATA_DIR,
        "database": settings.PKB_POSTGRES_DIR,
        "backups": backup_dir,
    }
    usages = {
        use: shutil.disk_usage(folder)
        for use, folder in folders.items()
        if folder is not None and folder.is_dir()
    }
    return State(
        models_loaded=are_models_loaded(),
        workers=workers,
        backlog=backlog,
        disks=[Disk(use, usage.free, usage.total) for use, usage in usages.items()],
        backups=None if backup_dir is None else read_backups(backup_dir),
        backup_interval=timedelta(hours=settings.PKB_BACKUP_EVERY_HOURS),
    )


def _humanize(time: timedelta) -> str:
    return timesince(timezone.now() - time)
