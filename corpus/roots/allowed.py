"""Resolve paths that requests may name."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from django.conf import settings

from corpus.errors import PathIngestionOff, PathNotFound
from corpus.roots.safe_open import read_mode
from corpus.roots.shown_paths import root_names, uploads_folder


@dataclass(frozen=True, slots=True)
class AllowedPath:
    """A file or folder below an allowed root; both absolute, without symbolic links."""

    path: Path
    root: Path


def is_allowed(root: Path) -> bool:
    """Return whether requests may ingest files below the folder."""
    return root in settings.PKB_INGEST_ROOTS or root == uploads_folder()


def find_allowed(given: str, *, folder: bool) -> AllowedPath:
    """Return the file or folder that a request names.

    Args:
        given: Relative to an allowed root, absolute below one, or as shown, after the root's
            name.
        folder: Look for a folder, else for a regular file.

    Raises:
        PathIngestionOff: No root is allowed.
        PathNotFound: There is none; a forbidden, hidden or linked path gives the same message.
    """
    roots: list[Path] = settings.PKB_INGEST_ROOTS
    if not roots:
        raise PathIngestionOff("PKB_INGEST_ROOTS is empty. An administrator can set it.")
    is_wanted = stat.S_ISDIR if folder else stat.S_ISREG
    for found in _candidates(given, roots):
        if is_wanted(_read_mode(found)):
            return found
    raise PathNotFound(f"There is no such {'folder' if folder else 'file'} in PKB_INGEST_ROOTS.")


def find_root(name: str) -> AllowedPath | None:
    """Return the root with this shown name."""
    root = root_names().get(name)
    return AllowedPath(root, root) if root else None


def _candidates(given: str, roots: list[Path]) -> Iterator[AllowedPath]:
    """Yield the paths that ``given`` may mean, in the order of lookup."""
    pure = PurePosixPath(given)
    if "\0" in given or not given.strip():
        return
    if pure.is_absolute():
        below = [(root, pure.relative_to(root)) for root in roots if pure.is_relative_to(root)]
    else:
        below = [(root, pure) for root in roots]
        named = root_names().get(pure.parts[0]) if pure.parts else None
        if named is not None:
            below.append((named, PurePosixPath(*pure.parts[1:])))
    for root, path in below:
        # Rejects hidden names and "..".
        if not any(part.startswith(".") for part in path.parts):
            yield AllowedPath(root / path, root)


def _read_mode(found: AllowedPath) -> int:
    """Return the mode of the file; 0 if there is none."""
    try:
        return read_mode(found.path, root=found.root)
    except (OSError, ValueError):
        return 0
