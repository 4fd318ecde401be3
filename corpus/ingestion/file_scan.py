"""Files of this machine: find them and read them."""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from time import time

from corpus.errors import PkbError, TooLarge, UnreadableFile
from corpus.ingestion.selection import DEFAULT_SELECTION, Selection, file_kind
from corpus.loaders import supported_extensions
from corpus.roots.safe_open import is_folder, open_file, open_folder
from corpus.times import EARLIEST, LATEST

# What a document's address holds.
MAX_URI_CHARS = 2_048
# What an item of a job holds, less one name.
MAX_FOLDER_BYTES = 4_096 - 256


class FileStillChanging(Exception):
    """Somebody is writing the file: what it holds now may be half of it."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read; ``path`` is absolute.

    Attributes:
        content: With what it includes.
        includes: The hashes of the files that it includes, by their paths from its folder.
        own_sha256: Its own hash, where it includes others.
    """

    path: Path
    content: bytes
    last_modified: datetime
    includes: Mapping[str, str] = field(default_factory=dict)
    own_sha256: str = ""

    @property
    def file_hash(self) -> str:
        """Return the hash of its bytes, or of its hash and those of all that it includes."""
        hashes = "\n".join([self.own_sha256, *self.includes.values()]).encode()
        return sha256(hashes if self.includes else self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found, or a folder that could not be opened, with the reason."""

    path: Path
    error: OSError | None = None


def find_files(
    paths: Iterable[Path],
    *,
    root: Path | None = None,
    selection: Selection = DEFAULT_SELECTION,
    skipped: Counter[str] | None = None,
) -> Iterator[FoundFile]:
    """Yield the files named, and those in the folders named that some loader reads.

    Hidden files and folders, and symbolic links, are passed over inside folders.

    Args:
        paths: Absolute, with no link in them.
        root: Where given, the paths lie below it, and links are followed nowhere below it.
        selection: What of a folder is wanted.
        skipped: Counts, by kind, what else is passed over in folders.
    """
    skipped = Counter() if skipped is None else skipped
    for path in paths:
        start = root or path
        if is_folder(path, root=start):
            yield from _below(path, start, selection, skipped)
        else:
            # Where it is no file, reading it says what it is.
            yield FoundFile(path)


def _below(
    top: Path, root: Path, selection: Selection, skipped: Counter[str]
) -> Iterator[FoundFile]:
    known = set(supported_extensions())
    # Each is opened from the root on when its turn comes: however deep, few files are open.
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        here = folder.relative_to(top)
        try:
            folders, files = _list_folder(folder, root)
        except OSError as error:
            yield FoundFile(folder, error)
            continue
        entered = [name for name in folders if selection.enters(here / name)]
        skipped.update(file_kind(here / name, is_folder=True) for name in {*folders} - {*entered})
        waiting += [folder / name for name in reversed(entered)]
        for name in files:
            ending = os.path.splitext(name)[1].lower().lstrip(".")  # noqa: PTH122  (no path)
            if ending in known and selection.takes(here / name):
                yield FoundFile(folder / name)
            else:
                skipped[file_kind(here / name)] += 1


def find_folders(
    top: Path, *, root: Path, selection: Selection = DEFAULT_SELECTION
) -> Iterator[Path]:
    """Yield the folders that ``find_files`` looks into."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            folders, _ = _list_folder(folder, root)
        except OSError:
            continue
        yield folder
        entered = (folder / name for name in folders)
        waiting += [each for each in entered if selection.enters(each.relative_to(top))]


def is_empty_folder(folder: Path, *, root: Path) -> bool:
    """Tell whether a folder is there and nothing is in it, not even what is hidden or a link."""
    try:
        descriptor = open_folder(folder, root=root)
    except OSError:
        return False
    try:
        with os.scandir(descriptor) as entries:
            return next(entries, None) is None
    finally:
        os.close(descriptor)


def _list_folder(folder: Path, root: Path) -> tuple[list[str], list[str]]:
    """Return the names of folders and of regular files, in order."""
    if len(os.fsencode(folder)) > MAX_FOLDER_BYTES:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    descriptor = open_folder(folder, root=root)
    try:
        with os.scandir(descriptor) as entries:
            seen = [entry for entry in entries if not entry.name.startswith(".")]
            folders = [entry.name for entry in seen if entry.is_dir(follow_symlinks=False)]
            files = [entry.name for entry in seen if entry.is_file(follow_symlinks=False)]
    finally:
        os.close(descriptor)
    return sorted(folders), sorted(files)


def read_file(path: Path, *, root: Path, max_bytes: int, quiet_s: float = 0) -> FileContent:
    """Read a regular file.

    Args:
        path: Absolute, below ``root``.
        root: From here on no link is followed; there is none in it.
        quiet_s: Seconds for which it must not have changed, nor while it is read; 0: it may have.

    Raises:
        FileStillChanging: It changed within ``quiet_s``.
        UnreadableFile: It is a folder, a device, a pipe; or its path cannot be stored.
        TooLarge: It is over ``max_bytes``.
        SymlinkFound: A link is in its place, or on the way to it.
        OSError: It is not there or not readable.
    """
    if reason := rejection_reason(path):
        raise UnreadableFile(reason)
    descriptor = open_file(path, root=root)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("It is no regular file.")
        if status.st_size > max_bytes:
            raise TooLarge(f"The file has {status.st_size:,} bytes; {max_bytes:,} are allowed.")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
        if quiet_s and not _is_settled(status, os.fstat(descriptor), quiet_s):
            raise FileStillChanging
    finally:
        os.close(descriptor)
    return FileContent(path, content, _moment(status.st_mtime))


def _is_settled(before: os.stat_result, after: os.stat_result, quiet_s: float) -> bool:
    """Tell whether a file has not changed for a while, nor between two looks.

    A time in the future says nothing: of a server whose clock is ahead, or that somebody made up.
    """
    is_recent = 0 <= time() - before.st_mtime < quiet_s
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return same and not is_recent


def _moment(seconds: float) -> datetime:
    """Of what a file system says, which may lie thousands of years off, the nearest bound."""
    within = min(max(seconds, EARLIEST.timestamp()), LATEST.timestamp())
    return datetime.fromtimestamp(within, tz=UTC)


def rejection_reason(path: Path) -> str:
    """Say why a path cannot be stored with a document, or nothing."""
    # Such names come as surrogates, which Postgres does not take.
    if printable(path) != path:
        return "Its name is not UTF-8."
    return "Its path is too long." if len(path.as_uri()) > MAX_URI_CHARS else ""


def printable(path: Path) -> Path:
    """Return the absolute path, each byte that is not UTF-8 replaced."""
    return Path(str(path.absolute()).encode(errors="replace").decode())


def error_reason(error: PkbError | OSError) -> str:
    """Say in one line why a file failed."""
    if isinstance(error, PkbError):
        return str(error) or error.title
    return error.strerror or str(error) or type(error).__name__
