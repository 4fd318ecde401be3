"""Which files and folders may be named over HTTP."""

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
    """A file or folder below an allowed root; both are absolute, with no link in them."""

    path: Path
    root: Path


def is_allowed(root: Path) -> bool:
    """Tell whether files below the folder may be taken in for somebody who asks over HTTP."""
    return root in settings.PKB_INGEST_ROOTS or root == uploads_folder()


def find_allowed(given: str, *, folder: bool) -> AllowedPath:
    """Return a file or folder that is named over HTTP.

    Args:
        given: Relative to an allowed root, absolute below one, or as paths are shown, with the
            root's name before it.
        folder: Whether a folder is meant; else a regular file.

    Raises:
        PathIngestionOff: No root is allowed.
        PathNotFound: There is nothing of that kind there; what is refused, hidden or behind a link
            is told in the same words as what is absent.
    """
    roots: list[Path] = settings.PKB_INGEST_ROOTS
    if not roots:
        raise PathIngestionOff("PKB_INGEST_ROOTS names no folder.")
    is_wanted = stat.S_ISDIR if folder else stat.S_ISREG
    for found in _meant_by(given, roots):
        if is_wanted(_read_mode(found)):
            return found
    raise PathNotFound(f"There is no such {'folder' if folder else 'file'} below an allowed root.")


def find_root(name: str) -> AllowedPath | None:
    """Return the root that is shown under this name."""
    root = root_names().get(name)
    return AllowedPath(root, root) if root else None


def _meant_by(given: str, roots: list[Path]) -> Iterator[AllowedPath]:
    """Yield what a path may mean in the order in which it is looked for, there or not."""
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
        # Hidden names and the folder above begin alike.
        if not any(part.startswith(".") for part in path.parts):
            yield AllowedPath(root / path, root)


def _read_mode(found: AllowedPath) -> int:
    """The type of what is there; 0 for nothing."""
    try:
        return read_mode(found.path, root=found.root)
    except (OSError, ValueError):
        return 0
