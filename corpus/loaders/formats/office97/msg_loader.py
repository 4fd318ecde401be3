"""Outlook messages (MSG), converted to e-mail, which the loader of e-mail reads.

The format is [MS-OXMSG]: a stream for each property, named by its number and type; attachments
and messages within messages are storages of the same kind.
"""

import datetime as dt
import email.utils
import struct
from contextlib import suppress
from email.message import EmailMessage
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Attachment, LoadedDocument
from corpus.loaders.formats import email_loader
from corpus.loaders.formats.office97.container import charset_of, opened, read_stream

if TYPE_CHECKING:
    from olefile import OleFileIO

PRELOAD = ("olefile", "lxml.html")

_SUBJECT, _BODY, _HTML, _ID = "0037", "1000", "1013", "1035"
_SENDER, _SENDER_ADDRESSES = "0C1A", ("5D01", "0C1F")
_RECIPIENTS = {"To": "0E04", "Cc": "0E03"}
_NAMES, _TYPE, _ATTACHED = ("3707", "3704"), "370E", "3701"
_SENT, _DELIVERED, _CODEPAGE = 0x00390040, 0x0E060040, 0x3FFD0003
_PROPERTIES = "__properties_version1.0"
_WIDE, _NARROW, _BINARY, _STORAGE = "001F", "001E", "0102", "000D"
# Header sizes before the properties of a top-level and of an embedded message.
_HEADS = (32, 24)
# Windows counts tenths of microseconds from 1601 on.
_EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
_TENTHS_PER_MICROSECOND = 10
_MAX_DEPTH = 5
_MAX_ATTACHMENTS = 1_000

Path = tuple[str, ...]


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read one message; ``attachments`` reads its files."""
    return email_loader.load(to_email(content), filename=filename)


def attachments(content: bytes) -> list[Attachment]:
    """Return the files of a message, including messages."""
    return email_loader.attachments(to_email(content))


def to_email(content: bytes) -> bytes:
    """Return the message in RFC 822 form."""
    with opened(content) as container:
        if not container.exists(_PROPERTIES):
            raise UnreadableFile("The file holds no Outlook message.")
        return bytes(_Message(container, ()).to_email())


class _Message:
    def __init__(self, container: "OleFileIO", path: Path) -> None:
        self._container = container
        self._path = path
        content = read_stream(container, *path, _PROPERTIES)
        head = _HEADS[bool(path)]
        entries = content[head : len(content) - (len(content) - head) % 16]
        # Properties of up to eight bytes by number and type; dates in Windows' units.
        self._numbers = {tag: value for tag, _, value in struct.iter_unpack("<IIQ", entries)}
        self._charset = charset_of(self._numbers.get(_CODEPAGE, 0) % 2**32)

    def to_email(self) -> EmailMessage:
        mail = EmailMessage()
        name = self._line(_SENDER)
        address = next(filter(None, map(self._line, _SENDER_ADDRESSES)), "")
        headers = {
            "Subject": self._line(_SUBJECT),
            "From": f"{name} <{address}>"
            if "@" in address and address != name
            else name or address,
            **{header: self._line(number) for header, number in _RECIPIENTS.items()},
            "Date": "",
            "Message-ID": self._line(_ID),
        }
        if moment := self._numbers.get(_SENT) or self._numbers.get(_DELIVERED):
            with suppress(OverflowError):
                since_epoch = dt.timedelta(microseconds=moment // _TENTHS_PER_MICROSECOND)
                headers["Date"] = email.utils.format_datetime(_EPOCH + since_epoch)
        for header, value in headers.items():
            if value:
                mail[header] = value
        mail.set_content(self._text(_BODY))
        content = read_stream(self._container, *self._path, f"__substg1.0_{_HTML}{_BINARY}")
        html = content.decode(self._charset, "replace") if content else self._text(_HTML)
        if html:
            mail.add_alternative(html, subtype="html")
        depth = len(self._path)
        attached = (
            tuple(path)
            for path in self._container.listdir(streams=False, storages=True)
            if len(path) == depth + 1
            and tuple(path[:depth]) == self._path
            and path[-1].startswith("__attach_version")
        )
        for path in sorted(attached)[:_MAX_ATTACHMENTS]:
            inner = (*path, f"__substg1.0_{_ATTACHED}{_STORAGE}")
            part = _Message(self._container, path)
            if self._container.exists("/".join((*inner, _PROPERTIES))):
                if len(path) < _MAX_DEPTH * 2:
                    mail.add_attachment(_Message(self._container, inner).to_email())
                continue
            main, _, sub = (part._line(_TYPE) or "application/octet-stream").partition("/")
            name = next(filter(None, map(part._line, _NAMES)), "attachment")
            content = read_stream(self._container, *path, f"__substg1.0_{_ATTACHED}{_BINARY}")
            if content:
                mail.add_attachment(
                    content, maintype=main, subtype=sub or "octet-stream", filename=name
                )
        return mail

    def _line(self, number: str) -> str:
        """Return a property for a header, on one line, so that it cannot begin another header."""
        return " ".join(self._text(number).split())

    def _text(self, number: str) -> str:
        for kind, charset in ((_WIDE, "utf-16-le"), (_NARROW, self._charset)):
            content = read_stream(self._container, *self._path, f"__substg1.0_{number}{kind}")
            if content:
                return content.decode(charset, "replace").replace("\0", "")
        return ""
