"""Detect changes below a folder, by file system events or polling."""

import os
from collections.abc import Iterable, Set
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic

import structlog
import watchfiles
from watchfiles import Change

from corpus.converter import readable_extensions
from corpus.file_selection import DEFAULT_SELECTION
from corpus.ingestion.file_scan import find_folders, rejection_reason
from corpus.models import WatchedFolder
from corpus.roots.file_systems import reports_changes

log = structlog.get_logger(__name__)

# Maximum wait for a folder that keeps changing; files being written are retried.
MAX_WAIT_S = 30.0
# How often the watched folders are listed: no event reports a mount or unmount.
LOOK_EVERY_S = 5.0
# How often file systems without events are polled, each file of them.
POLL_EVERY_S = 10.0
# Changes within this time are reported together; without any, the call returns after this time.
_STEP_MS, _TOGETHER_MS, _SILENCE_MS = 200, 1_000, 500

State = WatchedFolder.State
# A folder with its device and inode.
Watched = tuple[Path, int, int]


class PendingChanges:
    """Changes since the last sync, as ``monotonic`` times; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._first: float | None = None
        self._last = 0.0

    def note(self, now: float) -> None:
        """Record a change."""
        with self._lock:
            self._first = now if self._first is None else self._first
            self._last = now

    def is_due(self, now: float, *, quiet_s: float) -> bool:
        """Return whether to start a sync: changes stopped, or went on for too long."""
        with self._lock:
            if self._first is None:
                return False
            return now - self._last >= quiet_s or now - self._first >= max(MAX_WAIT_S, quiet_s)

    def take(self) -> None:
        """Clear the changes, because a starting sync will see them."""
        with self._lock:
            self._first = None


class FolderWatcher(Thread):
    """Records changes below a folder in ``pending`` until it is stopped.

    Only folders that a sync reads are watched, each separately, without following links.

    Attributes:
        state: Whether the folder exists, and how it is watched.
    """

    def __init__(self, path: Path, *, root: Path) -> None:
        super().__init__(name=f"watch {path}", daemon=True)
        self.pending = PendingChanges()
        self.state = State.NEW
        self._path, self._root = path, root
        self._endings = readable_extensions()
        self._folders: Set[Watched] = set()
        self._names: Set[str] = set()
        self._must_poll = False
        self._stopped = Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        while not self._stopped.is_set():
            self._folders = self._find_folders()
            self._names = {str(path) for path, _, _ in self._folders}
            if not self._folders:
                self.state = State.MISSING
                self._stopped.wait(LOOK_EVERY_S)
                continue
            try:
                self._watch()
            except FileNotFoundError:
                # A folder was deleted meanwhile.
                self._stopped.wait(_SILENCE_MS / 1_000)
            except (OSError, RuntimeError) as exc:
                # Usually more folders than the system allows.
                log.warning("watched_by_polling", reason=str(exc))
                self._must_poll = True
                self._stopped.wait(LOOK_EVERY_S)

    def _watch(self) -> None:
        """Record changes until the list of folders changes."""
        is_polled = self._must_poll or not reports_changes(self._path)
        changes = watchfiles.watch(
            *(path for path, _, _ in self._folders),
            watch_filter=self._is_relevant,
            debounce=_TOGETHER_MS,
            step=_STEP_MS,
            rust_timeout=_SILENCE_MS,
            yield_on_timeout=True,
            stop_event=self._stopped,
            raise_interrupt=False,
            # Else WATCHFILES_FORCE_POLLING decides.
            force_polling=is_polled or None,
            poll_delay_ms=int(POLL_EVERY_S * 1_000),
            recursive=False,
            ignore_permission_denied=True,
        )
        next(changes, None)
        # Changes before this point were not seen.
        self.pending.note(monotonic())
        self.state = State.POLLED if is_polled else State.WATCHED
        looked_at = monotonic()
        if self._find_folders() != self._folders:
            return
        for changed in changes:
            if changed:
                self.pending.note(monotonic())
            if any(self._is_folder(path) for _, path in changed):
                return
            if monotonic() - looked_at >= LOOK_EVERY_S:
                looked_at = monotonic()
                if _identify_existing(path for path, _, _ in self._folders) != self._folders:
                    return

    def _find_folders(self) -> Set[Watched]:
        return _identify_existing(find_folders(self._path, root=self._root))

    def _is_relevant(self, change: Change, path: str) -> bool:
        """Return whether a sync would see a change."""
        if self._is_folder(path):
            return True
        here = Path(path).relative_to(self._path)
        ending = here.suffix.lower().lstrip(".")
        return (
            not here.name.startswith(".")
            and ending in self._endings
            and DEFAULT_SELECTION.takes(here)
        )

    def _is_folder(self, path: str) -> bool:
        """Return whether it is a watched folder, or would be."""
        if path in self._names:
            return True
        here = Path(path).relative_to(self._path)
        is_seen = not here.name.startswith(".") and DEFAULT_SELECTION.enters(here)
        return is_seen and os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _identify_existing(folders: Iterable[Path]) -> Set[Watched]:
    """Return the existing folders with storable names."""
    existing: set[Watched] = set()
    for path in folders:
        # A name that is not UTF-8 would stop the watching of all others.
        with suppress(OSError):
            if rejection_reason(path):
                continue
            status = path.lstat()
            existing.add((path, status.st_dev, status.st_ino))
    return existing
