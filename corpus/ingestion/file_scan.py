"""Find and read files of the server."""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from time import time

from corpus.converter import readable_extensions
from corpus.errors import PkbError, TooLarge, UnreadableFile
from corpus.file_selection import DEFAULT_SELECTION, Selection, file_kind
from corpus.ingestion.packed_files import NESTED, PackedFiles, is_packed
from corpus.roots.safe_open import is_folder, open_file, open_folder
from corpus.times import EARLIEST, LATEST

# Length of a document's ``source_uri``.
MAX_URI_CHARS = 2_048
# Length of a job item's path, less one name.
MAX_FOLDER_BYTES = 4_096 - 256


class FileStillChanging(Exception):
    """The file is being written and may be incomplete."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file; ``path`` is absolute.

    Attributes:
        content: Its bytes, with included files.
        includes: The hashes of included files, by their paths relative to its folder.
        own_sha256: The hash of its own bytes, if it includes others.
    """

    path: Path
    content: bytes
    last_modified: datetime
    includes: Mapping[str, str] = field(default_factory=dict)
    own_sha256: str = ""

    @property
    def file_hash(self) -> str:
        """Return the hash of its bytes; with includes, of its and their hashes."""
        hashes = "\n".join([self.own_sha256, *self.includes.values()]).encode()
        return sha256(hashes if self.includes else self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, or a folder or archive that could not be opened, with the error.

    The path of a file in an archive begins with that of the archive.
    """

    path: Path
    error: PkbError | OSError | None = None


def find_files(
    paths: Iterable[Path],
    *,
    root: Path | None = None,
    selection: Selection = DEFAULT_SELECTION,
    skipped: Counter[str] | None = None,
    max_packed_bytes: int = 0,
    quiet_s: float = 0,
) -> Iterator[FoundFile]:
    """Yield the given files, and the files of the given folders that a loader reads.

    Hidden files and folders and symbolic links inside of folders are skipped. In place of an
    archive or mailbox, its files are yielded.

    Args:
        paths: Absolute, without symbolic links.
        root: A folder above all paths; links are not followed below it.
        selection: Patterns of the files of a folder.
        skipped: Counter of other skipped files and folders, by kind.
        max_packed_bytes: Size of the archives that are opened, and of each file in them.
        quiet_s: Seconds since the last change before an archive is opened.
    """
    skipped = Counter() if skipped is None else skipped
    known = readable_extensions()

    def take(file: Path, top: Path, start: Path) -> Iterator[FoundFile]:
        """Yield a file of a folder or archive, or the files in it, as far as they are selected."""
        if max_packed_bytes and is_packed(file.name) and not selection.excludes(file, below=top):
            for member in _find_members(file, start, max_packed_bytes, quiet_s):
                is_whole = member.error or member.path == file
                yield from [member] if is_whole else take(member.path, top, start)
            return
        ending = os.path.splitext(file.name)[1].lower().lstrip(".")  # noqa: PTH122  (no path)
        if ending in known and selection.takes(file.relative_to(top)):
            yield FoundFile(file)
        else:
            skipped[file_kind(file)] += 1

    for top in paths:
        start = root or top
        if not is_folder(top, root=start):
            if max_packed_bytes and is_packed(top.name):
                yield from take(top, top, root or top.parent)
            else:
                # Reading it reports what it is, if it is not a file.
                yield FoundFile(top)
            continue
        for folder, files in _walk(top, start, selection, skipped):
            if isinstance(files, OSError):
                yield FoundFile(folder, files)
                continue
            for name in files:
                yield from take(folder / name, top, start)


def _find_members(archive: Path, root: Path, max_bytes: int, quiet_s: float) -> Iterator[FoundFile]:
    """Yield the files of an archive; itself if it is being written, or with the error."""
    try:
        members = _open_packed(archive, root=root, max_bytes=max_bytes, quiet_s=quiet_s)[1].members
    except FileStillChanging:
        yield FoundFile(archive)
        return
    except (PkbError, OSError) as error:
        yield FoundFile(archive, error)
        return
    for member in members:
        refusal = member.refusal or NESTED * is_packed(member.name)
        yield FoundFile(archive / member.name, UnreadableFile(refusal) if refusal else None)


def find_folders(top: Path, *, root: Path) -> Iterator[Path]:
    """Yield the folders that ``find_files`` reads."""
    for folder, files in _walk(top, root, DEFAULT_SELECTION, Counter()):
        if not isinstance(files, OSError):
            yield folder


def _walk(
    top: Path, root: Path, selection: Selection, skipped: Counter[str]
) -> Iterator[tuple[Path, list[str] | OSError]]:
    """Yield the selected folders with the names of their files, or the error of reading them.

    Each folder is opened from the root when it is read, so that few descriptors are open.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            folders, files = _list_folder(folder, root)
        except OSError as error:
            yield folder, error
            continue
        here = folder.relative_to(top)
        entered = [name for name in folders if selection.enters(here / name)]
        skipped.update(file_kind(here / name, is_folder=True) for name in {*folders} - {*entered})
        waiting += [folder / name for name in reversed(entered)]
        yield folder, files


def is_empty_folder(folder: Path, *, root: Path) -> bool:
    """Return whether the folder exists and contains nothing, also no hidden files or links."""
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
    """Read a regular file, or a file in an archive, which has the archive's time.

    Args:
        path: Absolute, below ``root``.
        root: A path without links; links are not followed below it.
        quiet_s: Seconds since the last change before it may be read; 0: any.

    Raises:
        FileStillChanging: It changed within ``quiet_s``.
        UnreadableFile: It is not a regular file, or its path cannot be stored.
        TooLarge: It has more than ``max_bytes``.
        SymlinkFound: It, or a folder above it, is a link.
        OSError: It is missing or not readable.
    """
    if reason := rejection_reason(path):
        raise UnreadableFile(reason)
    try:
        descriptor = open_file(path, root=root)
    except NotADirectoryError:
        archive = next((each for each in path.parents if is_packed(each.name)), None)
        if archive is None or not (archive == root or archive.is_relative_to(root)):
            raise
        root = root if archive != root else root.parent
        whole, packed = _open_packed(archive, root=root, max_bytes=max_bytes, quiet_s=quiet_s)
        content = packed.read(path.relative_to(archive).as_posix())
        return replace(whole, path=path, content=content)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("Not a regular file.")
        if status.st_size > max_bytes:
            raise TooLarge(
                f"The file has {status.st_size:,} bytes; at most {max_bytes:,} are allowed."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
        if quiet_s:
            after = os.fstat(descriptor)
            # A time in the future is ignored: a clock may be ahead, or the time may be invented.
            is_recent = 0 <= time() - status.st_mtime < quiet_s
            same = (status.st_size, status.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
            if is_recent or not same:
                raise FileStillChanging
    finally:
        os.close(descriptor)
    # Clipped, because file systems may report any year.
    seconds = min(max(status.st_mtime, EARLIEST.timestamp()), LATEST.timestamp())
    return FileContent(path, content, datetime.fromtimestamp(seconds, tz=UTC))


def _open_packed(
    archive: Path, *, root: Path, max_bytes: int, quiet_s: float
) -> tuple[FileContent, PackedFiles]:
    """Read an archive; raises as ``read_file`` and ``PackedFiles``."""
    file = read_file(archive, root=root, max_bytes=max_bytes, quiet_s=quiet_s)
    # A sync asks for each file of an archive in turn.
    key = (file.file_hash, archive.name, max_bytes)
    packed = _last_opened.get(key)
    if packed is None:
        packed = PackedFiles(file.content, name=archive.name, max_bytes=max_bytes)
        _last_opened.clear()
        _last_opened[key] = packed
    return file, packed


_last_opened: dict[tuple[str, str, int], PackedFiles] = {}


def rejection_reason(path: Path) -> str:
    """Return why a path cannot be stored with a document; empty if it can."""
    # Python decodes such names with surrogates, which Postgres rejects.
    if printable(path) != path:
        return "Its name is not UTF-8."
    return "Its path is too long." if len(path.as_uri()) > MAX_URI_CHARS else ""


def printable(path: Path) -> Path:
    """Return the absolute path with bytes replaced that are not UTF-8."""
    return Path(str(path.absolute()).encode(errors="replace").decode())


def error_reason(error: PkbError | OSError) -> str:
    """Return a one-line message of an error of a file."""
    if isinstance(error, PkbError):
        return str(error) or error.title
    return error.strerror or str(error) or type(error).__name__
