"""Build one document from a thread, and one from each attachment."""

import email.utils
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from email.errors import MessageError
from email.header import Header
from email.message import Message
from hashlib import sha256
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.formats.email_loader import (
    attachments,
    header_text,
    is_attachment,
    list_leaves,
    parse_message,
)
from corpus.sources.mail.threads import MessageHead, bare_subject
from corpus.sources.source import EntryContent, EntryFile

# Limits of one message, and of a thread during ingestion.
MAX_ATTACHMENTS = 100
MAX_ATTACHED_BYTES = 256 * 2**20
# The parser passes each line through all enclosing parts, at .07 to .15 us: 3 s at most. A message
# of 50 MB with ten parts has 7 million such steps.
MAX_STEPS = 20_000_000
# Errors of the standard library for malicious messages.
_WRITING = (MessageError, TypeError, ValueError, LookupError, AttributeError)
_BROKEN = (*_WRITING, RecursionError, UnreadableFile)


class _Thread:
    """The collected messages of a thread."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.heads: list[Message] = []
        self.attached_files: dict[str, EntryFile] = {}
        self._seen: set[bytes] = set()
        self._attached_bytes = 0

    def add(self, head: MessageHead, content: bytes) -> None:
        # The parser would be busy for long, and no sandbox limits its time here.
        small = content.lower()
        parts = small.count(b"boundary") + small.count(b"message/")
        if content.count(b"\n") * (1 + parts) > MAX_STEPS:
            raise UnreadableFile("The message has too many lines and parts.")
        message = parse_message(content)
        # A copy, such as the sender's own from a mailing list.
        body = sha256(content.replace(b"\r", b"").partition(b"\n\n")[2] + head.message_id.encode())
        if head.message_id and body.digest() in self._seen:
            return
        self._seen.add(body.digest())
        self.heads.append(message)
        for number, file in enumerate(attachments(content)[:MAX_ATTACHMENTS], start=1):
            self._attached_bytes += len(file.content)
            if self._attached_bytes > MAX_ATTACHED_BYTES:
                break
            self.attached_files[f"{head.key};part={number}"] = EntryFile(
                file.content,
                filename=file.filename,
                media_type=file.media_type,
                metadata=_stated(message),
                created_at=_sent_at(message),
            )
        # Attachments are separate documents, and empty here.
        attached = [part for part in list_leaves(message) if is_attachment(part)]
        for part in attached:
            part.set_type("application/octet-stream")
            part.set_payload("")
        with suppress(*_WRITING):  # a message too broken to be serialized again stays as it is
            content = message.as_bytes() if attached else content
        self.messages.append(content)


def read_thread(
    messages: Iterable[tuple[MessageHead, bytes]], *, version: str, left_out: int
) -> EntryContent:
    """Return the thread as a digest (RFC 2046), which the loader of e-mail reads.

    Args:
        messages: Messages in order.
        left_out: Number of messages that are too large.

    Raises:
        UnreadableFile: None of them can be read.
    """
    thread = _Thread()
    for head, content in messages:
        try:
            thread.add(head, content)
        except _BROKEN:
            left_out += 1
    if not thread.heads:
        raise UnreadableFile("The message is too broken to be read.")
    first = thread.heads[0]
    senders = (_sender(message) for message in thread.heads)
    metadata = {
        **_stated(first),
        "senders": list(dict.fromkeys(filter(None, senders))),
        "message_count": len(thread.heads),
        **({"left_out": left_out} if left_out else {}),
    }
    moments = [moment for message in thread.heads if (moment := _sent_at(message))]
    boundary = f"=_{sha256(b''.join(thread.messages)).hexdigest()[:40]}"
    fields = {name: header_text(first, name) for name in ("Subject", "From", "Date", "Message-ID")}
    lines = [f"{name}: {Header(text, 'utf-8').encode()}" for name, text in fields.items() if text]
    lines += ["MIME-Version: 1.0", f'Content-Type: multipart/digest; boundary="{boundary}"']
    parts = [f"\r\n--{boundary}\r\n\r\n".encode() + message for message in thread.messages]
    begin, end = "\r\n".join(lines).encode() + b"\r\n\r\n", f"\r\n--{boundary}--\r\n".encode()
    part = EntryFile(
        b"".join([begin, *parts, end]),
        filename="thread.eml",
        media_type="message/rfc822",
        title=header_text(first, "Subject"),
        metadata=metadata,
        created_at=min(moments, default=None),
        modified_at=max(moments, default=None),
    )
    return EntryContent(version, part, attached_files=thread.attached_files)


def _stated(message: Message) -> dict[str, Any]:
    """Return the searchable metadata: sender, date and subject."""
    sent_at = _sent_at(message)
    subject = header_text(message, "Subject")
    metadata = {
        "from": header_text(message, "From"),
        "sender": _sender(message),
        "date": sent_at.isoformat() if sent_at else "",
        "subject": subject,
        "thread": bare_subject(subject),
    }
    return {name: value for name, value in metadata.items() if value}


def _sender(message: Message) -> str:
    """Return the bare address, which filters compare."""
    return email.utils.parseaddr(header_text(message, "From"))[1].lower()


def _sent_at(message: Message) -> datetime | None:
    """Return the time of sending in UTC, so that texts sort by time."""
    try:
        moment = email.utils.parsedate_to_datetime(header_text(message, "Date"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
