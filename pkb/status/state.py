"""How the service is at this moment, and what of it somebody should look after."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections
from django.utils import timezone
from django.utils.timesince import timesince

from corpus.postgres.standby import REPLICA, Position, Reason, read_position
from corpus.queue import HEARTBEAT_TIMEOUT, Backlog, Worker, list_workers, read_backlog
from pkb.backup.rotation import Backups, read_backups
from pkb.postgres.programs import PostgresDidNotStart
from pkb.preload import are_models_loaded
from pkb.status.standby import Standby, read_standby

# The alerts of deploy/prometheus have the same bounds; a test compares them.
# A scan of 1,000 pages of three seconds each holds a worker for fifty minutes
# (docs/guides/workers.md).
LONGEST_WAIT = timedelta(hours=1)
# Postgres stops where there is no room, and a backup wants as much as the database has.
MIN_FREE_SHARE = 0.1
# One that did not come may still come; after the second something is wrong.
BACKUP_INTERVALS = 2
# A worker commits every 10 s that it lives: a standby that follows has a commit no older than that.
LONGEST_LAG = timedelta(seconds=60)

# The embedded server, too, which the first to need it starts: on a full disk it does not.
DATABASE_ERRORS = (DatabaseError, InterfaceError, PostgresDidNotStart)


class Problem(StrEnum):
    """What is wrong; each has an alert of its name in deploy/prometheus."""

    DATABASE_AWAY = "database_away"
    MODELS_NOT_LOADED = "models_not_loaded"
    NO_WORKER = "no_worker"
    HOME_UNSERVED = "home_unserved"
    QUEUE_WAITS = "queue_waits"
    DISK_FILLS = "disk_fills"
    BACKUP_OLD = "backup_old"
    BACKUP_FAILED = "backup_failed"
    STANDBY_UNUSED = "standby_unused"
    STANDBY_BEHIND = "standby_behind"


_UNUSED_REASONS = {
    Reason.UNREACHABLE: "it does not answer",
    Reason.NOT_A_STANDBY: "it is no standby, or was promoted",
    Reason.OTHER_SYSTEM: "it is a standby of another server",
    Reason.OTHER_TIMELINE: "it follows what the primary was before that was restored",
    Reason.UNSAFE_ROLE: "row-level security does not hold for the role of PKB_REPLICA_URL",
    Reason.FAILED: "what it was asked last broke off (replica_not_read in the log)",
}


class Finding(NamedTuple):
    problem: Problem
    detail: str


@dataclass(frozen=True, slots=True)
class Disk:
    """Where something is kept.

    Attributes:
        use: What is kept there: data, database or backups.
    """

    use: str
    free_bytes: int
    size_bytes: int

    @property
    def free_share(self) -> float:
        return self.free_bytes / self.size_bytes if self.size_bytes else 0.0


@dataclass(frozen=True, slots=True)
class State:
    """How the service is.

    Attributes:
        workers: None where the database cannot be asked.
        backlog: The same.
        backups: None where none are to be made.
        standby: None where there is none.
    """

    models_loaded: bool
    workers: list[Worker] | None
    backlog: Backlog | None
    disks: list[Disk]
    backups: Backups | None
    backup_interval: timedelta
    standby: Standby | None = None

    @property
    def alive_count(self) -> int:
        """How many workers were heard of just now."""
        return sum(worker.is_alive for worker in self.workers or ())

    @property
    def home_alive_count(self) -> int:
        """How many of them are of the host that keeps the files."""
        return sum(worker.is_alive and worker.is_home for worker in self.workers or ())

    def find_problems(self) -> Iterator[Finding]:
        """Yield what is wrong."""
        if not self.models_loaded:
            yield Finding(
                Problem.MODELS_NOT_LOADED, "The models are still loading, or did not load."
            )
        yield from self._problems_of_work()
        for disk in self.disks:
            if disk.free_share < MIN_FREE_SHARE:
                left = f"{disk.free_bytes:,} bytes, {disk.free_share:.0%}, are left"
                yield Finding(Problem.DISK_FILLS, f"Of the disk of the {disk.use} {left}.")
        yield from self._problems_of_backups()
        yield from self._problems_of_standby()

    def _problems_of_work(self) -> Iterator[Finding]:
        if self.workers is None or self.backlog is None:
            yield Finding(Problem.DATABASE_AWAY, "The database does not answer.")
            return
        if not self.alive_count:
            yield Finding(Problem.NO_WORKER, "No worker runs: nothing is done in the background.")
        waited = self.backlog.home_oldest or timedelta(0)
        if self.alive_count and not self.home_alive_count and waited > HEARTBEAT_TIMEOUT:
            yield Finding(
                Problem.HOME_UNSERVED,
                "No worker runs on the host that keeps the files: what only that can do has waited"
                f" for {_in_words(waited)}.",
            )
        oldest = self.backlog.oldest
        if oldest is not None and oldest > LONGEST_WAIT:
            yield Finding(
                Problem.QUEUE_WAITS, f"Work has waited for a worker for {_in_words(oldest)}."
            )

    def _problems_of_backups(self) -> Iterator[Finding]:
        if self.backups is None:
            return
        if self.backups.failure:
            yield Finding(Problem.BACKUP_FAILED, f"The last backup failed: {self.backups.failure}")
        age = self.backups.age
        if age is not None and age > BACKUP_INTERVALS * self.backup_interval:
            yield Finding(Problem.BACKUP_OLD, f"The last good backup is {_in_words(age)} old.")

    def _problems_of_standby(self) -> Iterator[Finding]:
        if self.standby is None:
            return
        if self.standby.reason in _UNUSED_REASONS:
            why = _UNUSED_REASONS[self.standby.reason]
            yield Finding(Problem.STANDBY_UNUSED, f"Searches do not read the standby: {why}.")
        behind = self.standby.standing.behind if self.standby.standing else None
        if behind is not None and behind > LONGEST_LAG:
            lag = f"its newest commit is {_in_words(behind)} old"
            yield Finding(Problem.STANDBY_BEHIND, f"The standby is behind: {lag}.")


def read_state() -> State:
    """Look at everything; what cannot be asked is None."""
    workers, backlog, position = _ask_database()
    folder = settings.PKB_BACKUP_DIR
    return State(
        models_loaded=are_models_loaded(),
        workers=workers,
        backlog=backlog,
        disks=list(_look_at_disks()),
        backups=None if folder is None else read_backups(folder),
        backup_interval=timedelta(hours=settings.PKB_BACKUP_EVERY_HOURS),
        standby=read_standby(position),
    )


def _ask_database() -> tuple[list[Worker] | None, Backlog | None, Position | None]:
    was_open = connection.connection is not None
    try:
        return list_workers(), read_backlog(), _read_position()
    except DATABASE_ERRORS:
        return None, None, None
    finally:
        # The thread of an exporter has no request that would end with its connection.
        if not was_open:
            connection.close()


def _read_position() -> Position | None:
    try:
        return read_position() if REPLICA in connections else None
    except DATABASE_ERRORS:
        # What else was asked is told all the same.
        return None


def _look_at_disks() -> Iterator[Disk]:
    folders: dict[str, Path | None] = {
        "data": settings.DATA_DIR,
        "database": settings.PKB_POSTGRES_DIR,
        "backups": settings.PKB_BACKUP_DIR,
    }
    for use, folder in folders.items():
        if folder is not None and folder.is_dir():
            usage = shutil.disk_usage(folder)
            yield Disk(use, free_bytes=usage.free, size_bytes=usage.total)


def _in_words(time: timedelta) -> str:
    return timesince(timezone.now() - time)
