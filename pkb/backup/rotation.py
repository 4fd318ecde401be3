"""Backups of a folder: create one, delete the oldest, and read their status."""

import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import DatabaseError
from django.utils import timezone

from pkb.backup.export import export_to
from pkb.backup.manifest import BackupError, Manifest

_NAME = "pkb-%Y%m%dT%H%M%SZ"
_NAME_PATTERN = re.compile(r"pkb-\d{8}T\d{6}Z")
# Only one process writes it at a time; remains of a killed one are overwritten.
_PARTIAL = ".backup.partial"
_REMOVED = ".backup.removed"
FAILURE = "failed.json"
# Delay after a failure, because each attempt costs as much as a backup.
RETRY_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Backups:
    """Status of a folder of backups.

    Attributes:
        times: Start times of the successful backups, the oldest first.
        failure: Reason why the last attempt failed; empty after a success.
    """

    times: tuple[datetime, ...]
    failure: str
    failed_at: datetime | None

    @property
    def last(self) -> datetime | None:
        return self.times[-1] if self.times else None

    @property
    def age(self) -> timedelta | None:
        return timezone.now() - self.times[-1] if self.times else None

    def is_due(self, every: timedelta) -> bool:
        if self.failed_at is not None and timezone.now() - self.failed_at < RETRY_AFTER:
            return False
        return self.age is None or self.age >= every


def read_backups(folder: Path) -> Backups:
    """Return the status of a folder; a backup gets its name when it is complete."""
    times = [
        datetime.strptime(each.name, _NAME).replace(tzinfo=UTC) for each in _list_backups(folder)
    ]
    try:
        failure = json.loads((folder / FAILURE).read_text(encoding="utf-8"))
        return Backups(tuple(times), failure["reason"], datetime.fromisoformat(failure["at"]))
    except (OSError, ValueError, KeyError):
        return Backups(tuple(times), "", None)


def make_backup(folder: Path, *, keep: int) -> tuple[Path, Manifest]:
    """Write a new backup into a folder, then delete the oldest, so that ``keep`` remain.

    If it fails, no backup is deleted, and the folder records the failure until the next success.

    Raises:
        BackupError: As ``export_to``.
        DatabaseError: As ``export_to``.
        OSError: As ``export_to``.
    """
    target = folder / timezone.now().strftime(_NAME)
    try:
        manifest = export_to(target, vectors=True, secrets=True, partial=folder / _PARTIAL)
    except (BackupError, DatabaseError, OSError) as exc:
        # On a full disk, the age of the last backup shows the problem.
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            failure = {"at": timezone.now().isoformat(), "reason": str(exc)}
            (folder / FAILURE).write_text(json.dumps(failure), encoding="utf-8")
        raise
    (folder / FAILURE).unlink(missing_ok=True)
    # Rename each first: an interrupted deletion leaves none that looks complete.
    removed = folder / _REMOVED
    for backup in _list_backups(folder)[:-keep]:
        shutil.rmtree(removed, ignore_errors=True)
        backup.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)
    return target, manifest


def _list_backups(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if _NAME_PATTERN.fullmatch(each.name))
