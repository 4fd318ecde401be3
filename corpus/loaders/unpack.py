"""List and read the files of a zip or tar archive; runs in the process that parses files."""

import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from corpus.errors import UnreadableFile
from corpus.loaders.archives import METHODS, is_encrypted, unpacks_too_much
from corpus.loaders.limits import LoaderLimits

# Each is a document. A larger archive is better unpacked, and its folder synced.
MAX_MEMBERS = 2_000
_ZIP_MARK = b"PK"
# What macOS adds for each file.
_RESOURCE_FORKS = "__MACOSX"
_ERRORS = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError,
    OSError, NotImplementedError, ValueError,
)  # fmt: skip


class Member(NamedTuple):
    """A file of an archive; without a name, what is said of the archive itself.

    Attributes:
        name: Its path inside, separated by ``/``, once in the archive.
        refusal: Why it cannot be read, or empty.
    """

    name: str
    size_bytes: int = 0
    refusal: str = ""


class _Entry(NamedTuple):
    name: str
    size_bytes: int
    refusal: str
    read: Callable[[], bytes]


def list_members(content: bytes, *, limits: LoaderLimits) -> list[Member]:
    """Return the files of an archive, without folders and hidden files.

    Raises:
        UnreadableFile: It is no archive, or damaged from its beginning.
    """
    return [member for member, _ in _walk(content, limits)]


def read_members(
    content: bytes, names: Collection[str], *, limits: LoaderLimits
) -> Iterator[tuple[str, bytes | None, str]]:
    """Yield name and content of these members; of a damaged one, None and the reason."""
    for member, read in _walk(content, limits):
        if member.name in names and not member.refusal:
            try:
                # At most as many bytes as its head states.
                yield member.name, read(), ""
            except _ERRORS as error:
                yield member.name, None, f"It is damaged in the archive: {error}."


def _walk(content: bytes, limits: LoaderLimits) -> Iterator[tuple[Member, Callable[[], bytes]]]:
    seen: set[str] = set()
    left_bytes, count = limits.max_unpacked_bytes, 0
    walk = _walk_zip if content.startswith(_ZIP_MARK) else _walk_tar
    entries = walk(content, limits)
    while True:
        try:
            entry = next(entries, None)
        except _ERRORS as error:
            if not count:
                reason = str(error).partition(":\n")[0]  # tarfile adds a line for each way it tried
                raise UnreadableFile(f"The archive is damaged: {reason}.") from error
            yield Member("", 0, f"The archive is damaged after {count} files: {error}."), bytes
            return
        if entry is None:
            return
        path = PurePosixPath(entry.name.replace("\\", "/"))
        if any(part.startswith(".") and part != ".." for part in path.parts):
            continue
        if _RESOURCE_FORKS in path.parts:
            continue
        count, left_bytes = count + 1, left_bytes - entry.size_bytes
        if count > MAX_MEMBERS or left_bytes < 0:
            reason = (
                f"The rest of the archive is left out: {MAX_MEMBERS:,} files and"
                f" {limits.max_unpacked_bytes:,} unpacked bytes are allowed. Unpack it and add the"
                " folder."
            )
            yield Member("", 0, reason), bytes
            return
        is_outside = path.is_absolute() or ".." in path.parts
        # What is refused is shown by a name inside.
        name = unused_name("/".join(part for part in path.parts if part not in {"/", ".."}), seen)
        refusal = "It names a path outside of the archive." if is_outside else entry.refusal
        if not refusal and entry.size_bytes > limits.max_file_bytes:
            refusal = f"It has {entry.size_bytes:,} bytes; {limits.max_file_bytes:,} are allowed."
        yield Member(name, entry.size_bytes, refusal), entry.read


def unused_name(name: str, seen: set[str]) -> str:
    """Return the name, with a number before its ending if it was seen; add it to ``seen``."""
    path, number, unused = PurePosixPath(name or "file"), 1, name or "file"
    while unused in seen:
        number += 1
        unused = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
    seen.add(unused)
    return unused


def _walk_zip(content: bytes, limits: LoaderLimits) -> Iterator[_Entry]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            refusal = ""
            if is_encrypted(entry):
                refusal = "It is encrypted. Unpack the archive, and add its files."
            elif entry.compress_type not in METHODS:
                refusal = "It is packed in an unusual way."
            elif unpacks_too_much(entry, limits):
                refusal = f"It unpacks to more than {limits.max_ratio} times its size."
            elif stat.S_ISLNK(entry.external_attr >> 16):
                refusal = "It is a link."

            def read(entry: zipfile.ZipInfo = entry) -> bytes:
                with archive.open(entry) as file:
                    return file.read(entry.file_size + 1)

            yield _Entry(entry.filename, entry.file_size, refusal, read)


def _walk_tar(content: bytes, limits: LoaderLimits) -> Iterator[_Entry]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
        for entry in archive:
            if entry.isdir():
                continue
            refusal = "" if entry.isfile() else "It is a link or a device."

            def read(entry: tarfile.TarInfo = entry) -> bytes:
                file = archive.extractfile(entry)
                return file.read() if file else b""

            yield _Entry(entry.name, entry.size if entry.isfile() else 0, refusal, read)
