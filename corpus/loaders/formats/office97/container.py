"""The container of old Office files (OLE2), and its document properties."""

import codecs
import datetime as dt
import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile

if TYPE_CHECKING:
    from olefile import OleFileIO


@contextmanager
def opened(content: bytes) -> "Iterator[OleFileIO]":
    """Open a container; convert errors of a damaged one to UnreadableFile."""
    import olefile  # noqa: PLC0415 - only in the child process

    try:
        with olefile.OleFileIO(io.BytesIO(content)) as container:
            yield container
    # OSError is the base of olefile's errors; invalid numbers raise the others.
    except (OSError, struct.error, IndexError, KeyError, TypeError, ValueError) as error:
        raise UnreadableFile(f"The file is damaged: {error}") from error


def read_stream(container: "OleFileIO", *path: str) -> bytes:
    """Return the bytes of a stream, or none if it is absent."""
    name = "/".join(path)
    if not container.exists(name) or container.get_type(name) != _STREAM:
        return b""
    with container.openstream(name) as stream:
        return bytes(stream.read())


_STREAM = 2


def read_properties(container: "OleFileIO") -> dict[str, str]:
    """Return title, author, subject, keywords, created and modified, if present."""
    if not container.exists("\x05SummaryInformation"):
        return {}
    summary = container.get_metadata()
    charset = charset_of(summary.codepage)
    properties: dict[str, str] = {}
    for name in ("title", "author", "subject", "keywords"):
        value = getattr(summary, name)
        text = value.decode(charset, "replace") if isinstance(value, bytes) else str(value or "")
        if line := " ".join(text.replace("\0", " ").split()):
            properties[name] = line
    for name, moment in (("created", summary.create_time), ("modified", summary.last_saved_time)):
        # A document that was never saved has the first date of the calendar, in 1601.
        if isinstance(moment, dt.datetime) and moment.year > _CALENDAR_BEGINS:
            properties[name] = moment.replace(microsecond=0).isoformat() + "Z"
    return properties


_CALENDAR_BEGINS = 1601


def charset_of(codepage: object) -> str:
    """Return Python's name of a Windows code page; by default Western European."""
    number = codepage if isinstance(codepage, int) else 0
    # Some files store it as a signed 16-bit number.
    name = _UNUSUAL_CODEPAGES.get(number % 2**16, f"cp{number % 2**16}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


_UNUSUAL_CODEPAGES = {
    1200: "utf-16-le", 10000: "mac_roman", 20127: "ascii", 28591: "latin-1", 28592: "iso8859-2",
    28605: "iso8859-15", 50220: "iso2022_jp", 51949: "euc_kr", 65001: "utf-8",
}  # fmt: skip


def join_surrogates(text: str) -> str:
    """Join surrogate pairs in a text."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
