"""Resolve paths that requests may name."""

import stat
from contextlib import suppress
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


def find_allowed(name: str, *, folder: bool) -> AllowedPath:
    """Return the file or folder that a request names.

    Args:
        name: Relative to an allowed root, absolute below one, or as shown, after the root's
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
    pure = PurePosixPath(name)
    if pure.is_absolute():
        below = [(root, pure.relative_to(root)) for root in roots if pure.is_relative_to(root)]
    else:
        below = [(root, pure) for root in roots]
        named_root = root_names().get(pure.parts[0]) if pure.parts else None
        if named_root is not None:
            below.append((named_root, PurePosixPath(*pure.parts[1:])))
    for root, path in below if name.strip() and "\0" not in name else ():
        # Hidden names and ".." are rejected.
        if not any(part.startswith(".") for part in path.parts):
            with suppress(OSError, ValueError):
                if is_wanted(read_mode(root / path, root=root)):
                    return AllowedPath(root / path, root)
    raise PathNotFound(f"There is no such {'folder' if folder else 'file'} in PKB_INGEST_ROOTS.")


def find_root(name: str) -> AllowedPath | None:
    """Return the root with this shown name."""
    root = root_names().get(name)
    return AllowedPath(root, root) if root else None
