"""The backups of a folder: made, kept so many, and how old the last good one is."""

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import DatabaseError
from django.utils import timezone

from pkb.backup.export import export_to
from pkb.backup.manifest import BackupError, Manifest

_NAME = "pkb-%Y%m%dT%H%M%SZ"
_NAMED = re.compile(r"pkb-\d{8}T\d{6}Z")
# Of any process there is one that writes it; what a killed one left is written anew.
_PARTIAL = ".backup.partial"
_REMOVED = ".backup.removed"
FAILURE = "failed.json"
# Of a failing disk each try costs as much as a backup.
RETRY_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Backups:
    """What a folder of backups says.

    Attributes:
        times: When each good one was begun, the oldest first.
        failure: Why the last try failed; empty after a good one.
    """

    times: tuple[datetime, ...]
    failure: str
    failed_at: datetime | None

    @property
    def last(self) -> datetime | None:
        """When the last good one was begun."""
        return self.times[-1] if self.times else None

    @property
    def age(self) -> timedelta | None:
        """Of the last good one."""
        return timezone.now() - self.times[-1] if self.times else None

    def is_due(self, every: timedelta) -> bool:
        """Tell whether the next one is to be made."""
        if self.failed_at is not None and timezone.now() - self.failed_at < RETRY_AFTER:
            return False
        return self.age is None or self.age >= every


def read_backups(folder: Path) -> Backups:
    """Return what is there; a backup has its name once it is whole."""
    times = [datetime.strptime(each.name, _NAME).replace(tzinfo=UTC) for each in _good(folder)]
    try:
        found = json.loads((folder / FAILURE).read_text(encoding="utf-8"))
        return Backups(tuple(times), found["reason"], datetime.fromisoformat(found["at"]))
    except (OSError, ValueError, KeyError):
        return Backups(tuple(times), "", None)


def make_backup(folder: Path, *, keep: int) -> tuple[Path, Manifest]:
    """Write one more backup into a folder, and then remove the oldest, so that ``keep`` stay.

    Raises:
        BackupError: As ``export_to``; the folder says so until one succeeds, and none is removed.
        DatabaseError: The same.
        OSError: The same.
    """
    target = folder / timezone.now().strftime(_NAME)
    try:
        manifest = export_to(target, vectors=True, secrets=True, partial=folder / _PARTIAL)
    except (BackupError, DatabaseError, OSError) as exc:
        _note_failure(folder, str(exc))
        raise
    (folder / FAILURE).unlink(missing_ok=True)
    _remove(folder, _good(folder)[:-keep])
    return target, manifest


def _good(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if _NAMED.fullmatch(each.name))


def _note_failure(folder: Path, reason: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        noted = {"at": timezone.now().isoformat(), "reason": reason}
        (folder / FAILURE).write_text(json.dumps(noted), encoding="utf-8")
    except OSError:
        # A full disk: the age of the last good one tells.
        return


def _remove(folder: Path, backups: Iterable[Path]) -> None:
    """Remove backups; a killed removal leaves none that looks whole."""
    removed = folder / _REMOVED
    for backup in backups:
        shutil.rmtree(removed, ignore_errors=True)
        backup.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)
