"""Zip containers, whose directory is checked before anything is unpacked."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.limits import LoaderLimits

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# The ratio is not checked for small entries: a blank style sheet packs 200 to 1.
_SMALL_ENTRY_BYTES = 2 * 2**20
_ENCRYPTED = 0x1
# "Strict" Office files differ in these names only.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
# The compression methods that office programs use.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def check_zip(content: bytes, *, limits: LoaderLimits) -> None:
    """Reject a container that unpacks to too much, or has paths outside itself.

    Archives inside count as bytes and are not opened.

    Raises:
        UnreadableFile: It is damaged, encrypted, or a bomb.
    """
    with opened(content) as archive:
        entries = archive.infolist()
    if len(entries) > limits.max_entries:
        raise UnreadableFile(f"The archive has more than {limits.max_entries} entries.")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.max_unpacked_bytes:
        raise UnreadableFile(
            f"The archive unpacks to {unpacked:,} bytes; {limits.max_unpacked_bytes:,} are allowed."
        )
    for entry in entries:
        if is_encrypted(entry):
            raise UnreadableFile("The file is encrypted.")
        name = repr(entry.filename)
        if entry.compress_type not in METHODS:
            raise UnreadableFile(f"The archive entry {name} is packed in an unusual way.")
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise UnreadableFile(f"The archive names a path outside itself: {name}.")
        if unpacks_too_much(entry, limits):
            raise UnreadableFile(
                f"The archive entry {name} unpacks to more than {limits.max_ratio} times its size."
            )


def is_encrypted(entry: zipfile.ZipInfo) -> bool:
    """Return whether an entry needs a password."""
    return bool(entry.flag_bits & _ENCRYPTED)


def unpacks_too_much(entry: zipfile.ZipInfo, limits: LoaderLimits) -> bool:
    """Return whether an entry unpacks to more than ``max_ratio`` times its size."""
    return entry.file_size > max(entry.compress_size * limits.max_ratio, _SMALL_ENTRY_BYTES)


def unpacked_bytes(content: bytes) -> int:
    """Return the total unpacked size of all entries, as the directory states it."""
    with opened(content) as archive:
        return sum(entry.file_size for entry in archive.infolist())


@contextmanager
def opened(content: bytes) -> Iterator[zipfile.ZipFile]:
    """Open a container; convert errors of zipfile and zlib to UnreadableFile."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as error:
        raise UnreadableFile(f"The zip container is damaged: {error}") from error


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return the bytes of an entry, or None if it is absent."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        return None
    with archive.open(entry) as file:
        # The size is limited: an entry may contain more than the directory states.
        content = file.read(entry.file_size + 1)
    return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", content)


def read_xml(archive: zipfile.ZipFile, name: str, *, allow_dtd: bool = False) -> "Element | None":
    """Return an entry parsed as XML, or None if it is absent.

    Raises:
        UnreadableFile: It is not well-formed, or it declares entities or (unless allowed) a DTD.
    """
    content = read_entry(archive, name)
    return None if content is None else parse_xml(content, name=name, allow_dtd=allow_dtd)


def parse_xml(
    content: bytes | str, *, name: str = "The file", allow_dtd: bool = False
) -> "Element":
    """Parse XML without entities, external references or (unless allowed) a DTD."""
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415 - only in the child process

    with _xml_errors_of(name):
        root: Element = fromstring(content, forbid_dtd=not allow_dtd)
        return root


@contextmanager
def _xml_errors_of(name: str) -> Iterator[None]:
    """Convert errors of XML parsers to UnreadableFile."""
    from xml.etree.ElementTree import ParseError  # noqa: PLC0415

    from defusedxml import DefusedXmlException  # noqa: PLC0415

    try:
        yield
    except DefusedXmlException as error:
        raise UnreadableFile(f"{name} declares a DTD or entities, which is refused.") from error
    except (ParseError, ValueError, LookupError) as error:
        raise UnreadableFile(f"{name} is not well-formed XML: {error}") from error


def stream_xml(archive: zipfile.ZipFile, name: str, tag: str) -> Iterator["Element"]:
    """Yield the elements with one tag in an entry, each cleared after its use.

    Raises as ``read_xml``.
    """
    from defusedxml.ElementTree import iterparse  # noqa: PLC0415

    content = read_entry(archive, name) or b""
    with _xml_errors_of(name):
        for _, element in iterparse(io.BytesIO(content), forbid_dtd=True):
            if element.tag == tag:
                yield element
                element.clear()
