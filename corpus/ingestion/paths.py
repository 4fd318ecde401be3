"""Find files in folders, and read them as what they are: regular files of a bounded size."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from corpus.errors import TooLarge, UnreadableFile
from corpus.loaders import supported_extensions


class Outcome(StrEnum):
    """What became of a file."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    RENAMED = "renamed"
    REMOVED = "removed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file; ``reason`` says why, where it failed."""

    path: Path
    outcome: Outcome
    document_id: str = ""
    chunk_count: int = 0
    encoded_count: int = 0
    reason: str = ""


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
        UnreadableFile: It is a folder, a device, a pipe, a link that was put there meanwhile.
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
    return FileContent(absolute, content, datetime.fromtimestamp(status.st_mtime, tz=UTC))
