"""E-mail (RFC 822): headers, text and attachments."""

import email
import email.header
import email.message
import email.policy
import email.utils
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpus.errors import PkbError, UnreadableFile
from corpus.loaders.blocks import Attachment, Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import paragraphs

if TYPE_CHECKING:
    from email.message import Message

PRELOAD = ("lxml.html",)

_SHOWN = ("From", "To", "Cc", "Date")
_KEYS = {
    "From": "from", "To": "to", "Cc": "cc", "Message-ID": "message_id",
    "Content-Language": "language",
}  # fmt: skip
# Limits nested parts, because each takes time.
_MAX_PARTS = 1_000
_MESSAGE_LEVEL = 2
# Maximum length of a decoded header: a list of recipients may have thousands.
_MAX_HEADER_CHARS = 10_000
# A plain text this much shorter than the HTML only refers to the HTML.
_MIN_PLAIN_SHARE = 0.3

# An mbox of several messages: the line before a message, and its first header.
_NEXT_MESSAGE = re.compile(rb"\n\r?\nFrom [^\n]+\n[!-9;-~]+:")


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read one message; ``attachments`` reads its files."""
    if content.startswith(b"From ") and _NEXT_MESSAGE.search(content):
        raise UnreadableFile(
            "This is an mbox of several messages. Give it the ending .mbox, or add it as a source."
        )
    message = parse_message(content)
    subject = header_text(message, "Subject")
    if not any(message.get(name) for name in ("From", "To", "Date", "Subject", "Received")):
        raise UnreadableFile("The file is no e-mail message: it has no headers.")
    blocks = [Block(subject, 1, subject)] if subject else []
    for inner in _digested(message) or [message]:
        if inner is not message:
            # A message of a digest begins with its sender and day.
            sender, _ = email.utils.parseaddr(header_text(inner, "From"))
            words = (sender or header_text(inner, "From"), _date(inner)[:10])
            name = ", ".join(filter(None, words)) or header_text(inner, "Subject") or "Message"
            blocks.append(Block(name, _MESSAGE_LEVEL, name))
        shown = [f"{name}: {text}" for name in _SHOWN if (text := header_text(inner, name))]
        blocks.append(Block("\n".join(shown)))
        blocks.extend(_body(inner))
    metadata = {key: text for name, key in _KEYS.items() if (text := header_text(message, name))}
    if created := _date(message):
        metadata["created"] = created
    return LoadedDocument(tuple(blocks), title=subject, metadata=metadata)


def attachments(content: bytes) -> list[Attachment]:
    """Return the files of a message, including messages, without inline images."""
    message = parse_message(content)
    digested = _digested(message)
    files: list[Attachment] = []
    for part in (part for each in digested or [message] for part in list_leaves(each)):
        if not is_attachment(part):
            continue
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload(0) if part.is_multipart() else None
            if isinstance(inner, email.message.Message):
                name = header_text(inner, "Subject") or "message"
                files.append(Attachment(f"{name}.eml", "message/rfc822", bytes(inner)))
        else:
            path = _decoded(part.get_filename() or "").replace("\\", "/")
            name = path.rpartition("/")[2] or "attachment"
            files.append(Attachment(name, part.get_content_type(), _bytes(part)))
    # Attachments of a thread are ingested on their own, and are empty here.
    return [file for file in files if file.content] if digested else files


def _digested(message: "Message") -> list["Message"]:
    """Return the messages of a digest, or nothing for another message."""
    if message.get_content_type() != "multipart/digest":
        return []
    messages = (part.get_payload(0) for part in _parts(message) if part.is_multipart())
    return [inner for inner in messages if isinstance(inner, email.message.Message)]


def _parts(message: "Message") -> list["Message"]:
    payload = message.get_payload() if message.is_multipart() else []
    return [part for part in payload if isinstance(part, email.message.Message)]


def parse_message(content: bytes) -> "Message":
    """Parse a message.

    Raises:
        UnreadableFile: It has too many parts, or an invalid boundary.
    """
    # The older policy never parses headers by itself, so broken headers do not fail.
    try:
        message = email.message_from_bytes(content.lstrip(), policy=email.policy.compat32)
    except ValueError as error:
        raise UnreadableFile("The message has a boundary that is none.") from error
    if sum(1 for _ in message.walk()) > _MAX_PARTS:
        raise UnreadableFile(f"The message has more than {_MAX_PARTS} parts.")
    return message


def list_leaves(message: "Message") -> Iterator["Message"]:
    """Return the parts with content; an attached message is one of them, not its parts."""
    if message.get_content_type() == "message/rfc822" or not message.is_multipart():
        yield message
        return
    for part in _parts(message):
        yield from list_leaves(part)


def is_attachment(part: "Message") -> bool:
    """Return whether a leaf is an attached file or image."""
    if part.get_content_type() == "message/rfc822":
        return True
    disposition = (part.get_content_disposition() or "").lower()
    if part.get_content_maintype() == "image" and disposition != "attachment":
        return False
    is_text = part.get_content_type() in ("text/plain", "text/html")
    return disposition == "attachment" or bool(part.get_filename()) or not is_text


def _body(message: "Message") -> list[Block]:
    """Return the message text: the plain one, unless only the HTML one has content."""
    plain: list[Block] = []
    rich: list[Block] = []
    for part in list_leaves(message):
        if is_attachment(part):
            continue
        try:
            text = decode(_bytes(part), declared=str(part.get_content_charset() or ""))
        except PkbError:  # one broken part must not hide the others
            continue
        if part.get_content_type() == "text/html":
            from corpus.loaders.formats.html_blocks import html_blocks  # noqa: PLC0415 - few need it

            rich.extend(html_blocks(text))
        else:
            plain.extend(map(Block, paragraphs(text)))
    plain_chars, rich_chars = (sum(len(block.text) for block in each) for each in (plain, rich))
    return plain if plain_chars > _MIN_PLAIN_SHARE * rich_chars else rich


def _bytes(part: "Message") -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def header_text(message: "Message", name: str) -> str:
    """Return a decoded header, or "" if it is absent."""
    value = message.get(name)
    return "" if value is None else _decoded(str(value)[:_MAX_HEADER_CHARS])


def _decoded(value: str) -> str:
    """Decode a header's encoded words; keep those that cannot be decoded."""
    pieces: list[str] = []
    try:
        for piece, charset in email.header.decode_header(value):
            if isinstance(piece, bytes):
                pieces.append(decode(piece, declared=charset or "") if piece else "")
            else:
                pieces.append(piece)
    except (email.errors.HeaderParseError, ValueError, PkbError):
        return " ".join(value.split())
    return " ".join("".join(pieces).split())


def _date(message: "Message") -> str:
    try:
        return email.utils.parsedate_to_datetime(header_text(message, "Date")).isoformat()
    except (TypeError, ValueError, OverflowError):  # absent or no date
        return ""
