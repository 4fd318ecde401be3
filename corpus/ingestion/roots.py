"""Which of the server's files may be taken in over HTTP: those below the allowed roots."""

import stat
from pathlib import Path, PurePosixPath

from django.conf import settings

from corpus.errors import PathIngestionOff, PathNotFound


def find_allowed(given: str, *, folder: bool) -> Path:
    """Return the absolute path of a file or folder that is named over HTTP.

    Args:
        given: Relative to an allowed root, or absolute below one.
        folder: Whether a folder is meant; else a regular file.

    Raises:
        PathIngestionOff: No root is allowed.
        PathNotFound: There is nothing of that kind there; what is refused is told in the same
            words as what is absent.
    """
    roots: list[Path] = settings.PKB_INGEST_ROOTS
    if not roots:
        raise PathIngestionOff("PKB_INGEST_ROOTS names no folder.")
    for root in roots:
        found = _below(root, given, folder=folder)
        if found is not None:
            return found
    kind = "folder" if folder else "file"
    raise PathNotFound(f"There is no such {kind} below an allowed root.")


def _below(root: Path, given: str, *, folder: bool) -> Path | None:
    pure = PurePosixPath(given)
    if "\0" in given or not given.strip() or ".." in pure.parts:
        return None
    if pure.is_absolute():
        if not pure.is_relative_to(root):
            return None
        pure = pure.relative_to(root)
    here = root
    for part in pure.parts:
        # One component at a time: a link anywhere on the way could lead out of the root.
        if not _is_folder(here):
            return None
        here /= part
    return here if (_is_folder(here) if folder else _is_regular(here)) else None


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def _mode(path: Path) -> int:
    """The type of what is there, links not followed; 0 for nothing."""
    try:
        return path.lstat().st_mode
    except (OSError, ValueError):
        return 0
