"""Files of this machine: find them, read them, and say which may be named over HTTP."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath

from django.conf import settings

from corpus.errors import PathIngestionOff, PathNotFound, PkbError, TooLarge, UnreadableFile
from corpus.loaders import supported_extensions
from corpus.times import EARLIEST, LATEST


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read; ``path`` is absolute, with no symbolic link in it."""

    path: Path
    content: bytes
    last_modified: datetime

    @property
    def file_hash(self) -> str:
        return sha256(self.content).hexdigest()


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files named, and those in the folders named that some loader reads.

    Hidden files and folders, and symbolic links inside folders, are passed over. A folder that
    cannot be opened is yielded itself, so that reading it fails with its reason.
    """
    known = set(supported_extensions())
    for path in paths:
        if path.is_dir():
            yield from _below(path, known)
        else:
            yield path


def _below(folder: Path, known: set[str]) -> Iterator[Path]:
    closed: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            found = Path(parent, name)
            if name.startswith(".") or found.is_symlink() or not found.is_file():
                continue
            if found.suffix.lower().lstrip(".") in known:
                yield found
        yield from (Path(error.filename) for error in closed)
        closed.clear()
    yield from (Path(error.filename) for error in closed)


def read_file(path: Path, *, max_bytes: int) -> FileContent:
    """Read a regular file.

    Raises:
        UnreadableFile: It is a folder, a device, a pipe, a link that was put there meanwhile; or
            its name is not UTF-8.
        TooLarge: It is over ``max_bytes``.
        OSError: It is not there or not readable.
    """
    absolute = path.resolve()
    # A pipe would be waited for, and a link put in its place since would be followed.
    descriptor = os.open(absolute, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("It is no regular file.")
        if status.st_size > max_bytes:
            raise TooLarge(f"The file has {status.st_size:,} bytes; {max_bytes:,} are allowed.")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
    finally:
        os.close(descriptor)
    # Such names come as surrogates, which Postgres does not take.
    if printable(absolute) != absolute:
        raise UnreadableFile("Its name is not UTF-8.")
    return FileContent(absolute, content, _moment(status.st_mtime))


def _moment(seconds: float) -> datetime:
    """Of what a file system says, which may lie thousands of years off, the nearest bound."""
    within = min(max(seconds, EARLIEST.timestamp()), LATEST.timestamp())
    return datetime.fromtimestamp(within, tz=UTC)


def printable(path: Path) -> Path:
    """Return the absolute path, each byte that is not UTF-8 replaced."""
    return Path(str(path.absolute()).encode(errors="replace").decode())


def reason_of(error: PkbError | OSError) -> str:
    """Say in one line why a file failed."""
    if isinstance(error, PkbError):
        return str(error) or error.title
    return error.strerror or str(error) or type(error).__name__


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
        found = _below_root(root, given, folder=folder)
        if found is not None:
            return found
    kind = "folder" if folder else "file"
    raise PathNotFound(f"There is no such {kind} below an allowed root.")


def _below_root(root: Path, given: str, *, folder: bool) -> Path | None:
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
