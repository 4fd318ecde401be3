"""A folder of an IMAP server, opened read-only, so that no message is marked as read."""

import imaplib
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import quote

from imap_tools import (
    BaseMailBox,
    ImapToolsError,
    MailBox,
    MailboxFolderSelectError,
    MailBoxStartTls,
    MailBoxUnencrypted,
)
from pydantic import Field

from corpus.errors import SourceUnavailable
from corpus.sources.mail.folder import MailSource
from corpus.sources.mail.threads import MessageHead, read_head
from corpus.sources.source_settings import SourceSettings

# Timeout of one step of the connection.
STEP_S = 60.0
# Headers requested by one command.
_BATCH_SIZE = 500
_HEAD = "(UID RFC822.SIZE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID REFERENCES IN-REPLY-TO SUBJECT)])"
_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d+)")
_PORTS = {"tls": 993, "starttls": 143, "none": 143}
_MAILBOXES: dict[str, type[BaseMailBox]] = {
    "tls": MailBox, "starttls": MailBoxStartTls, "none": MailBoxUnencrypted,
}  # fmt: skip


class Settings(SourceSettings):
    """An IMAP folder of an account."""

    kind: Literal["imap"]
    host: str = Field(pattern=r"^[A-Za-z0-9.:_-]+$")
    port: int = Field(default=0, ge=0, le=65_535, description="0: that of the security")
    security: Literal["tls", "starttls", "none"] = "tls"
    user: str = Field(min_length=1)
    folder: str = Field(default="INBOX", min_length=1)

    @property
    def address(self) -> str:
        at = f"{self.host}:{self.port}" if self.port else self.host
        return f"imap://{quote(self.user, safe='')}@{at}/{quote(self.folder)}"

    def open(self, *, max_bytes: int) -> MailSource:
        return MailSource(ImapFolder(self), max_bytes=max_bytes)


class ImapFolder:
    """An IMAP folder; UIDVALIDITY and UID identify messages (RFC 5092)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._mailbox: BaseMailBox | None = None
        self._prefix = ""

    def list_heads(self) -> Iterator[MessageHead]:
        try:
            mailbox = self._open_mailbox(fresh=True)
            uids = sorted(mailbox.uids("ALL", charset=None), key=int)
            for start in range(0, len(uids), _BATCH_SIZE):
                batch = uids[start : start + _BATCH_SIZE]
                messages = _fetch(mailbox, batch, _HEAD)
                for uid in batch:
                    # A message whose headers the server omits still exists.
                    attributes, head = messages.get(uid, (b"", b""))
                    size = _SIZE.search(attributes)
                    yield read_head(
                        head,
                        key=f"{self._prefix}{uid}",
                        version=uid,
                        position=int(uid),
                        size_bytes=int(size[1]) if size else 0,
                    )
        except (ImapToolsError, imaplib.IMAP4.error, OSError) as exc:
            raise self._unavailable(exc) from None

    def read_message(self, head: MessageHead) -> bytes:
        try:
            mailbox = self._open_mailbox()
            if not head.key.startswith(self._prefix):
                raise SourceUnavailable(
                    f"{self._settings.name}: its messages were renumbered. Sync again."
                )
            messages = _fetch(mailbox, [head.version], "(UID BODY.PEEK[])")
        except (ImapToolsError, imaplib.IMAP4.error, OSError) as exc:
            raise self._unavailable(exc) from None
        if head.version not in messages:
            message = f"{self._settings.name}: the message is missing or cannot be fetched."
            raise SourceUnavailable(message)
        return messages[head.version][1]

    def close(self) -> None:
        mailbox, self._mailbox = self._mailbox, None
        if mailbox is not None:
            # A lost connection needs no logout.
            with suppress(ImapToolsError, imaplib.IMAP4.error, OSError):
                mailbox.logout()
            with suppress(OSError):
                mailbox.client.shutdown()

    def _open_mailbox(self, *, fresh: bool = False) -> BaseMailBox:
        """Return the connection with its folder open; a listing uses a fresh one."""
        if fresh:
            self.close()
        if self._mailbox is None:
            user, password = self._settings.user, self._settings.credential()
            settings, security = self._settings, self._settings.security
            arguments: dict[str, Any] = {"host": settings.host, "timeout": STEP_S}
            arguments["port"] = settings.port or _PORTS[security]
            if security != "none":
                arguments["ssl_context"] = ssl.create_default_context()
            mailbox = self._mailbox = _MAILBOXES[security](**arguments)
            log_in = mailbox.login if (user + password).isascii() else mailbox.login_utf8
            try:
                log_in(user, password, initial_folder=None)
            except imaplib.IMAP4.abort:
                raise
            except (ImapToolsError, imaplib.IMAP4.error):
                self.close()
                message = f"{self._settings.name}: user and password are not taken."
                raise SourceUnavailable(message) from None
            # EXAMINE: flags of messages cannot be changed.
            mailbox.folder.set(self._settings.folder, readonly=True)
            _, validity = mailbox.client.response("UIDVALIDITY")
            number = int(validity[0]) if validity and validity[0] else 0
            self._prefix = f"{self._settings.address};UIDVALIDITY={number}/;UID="
        return self._mailbox

    def _unavailable(self, error: Exception) -> SourceUnavailable:
        # The server's text may quote the command and so the password; the error type is enough.
        self.close()
        kinds = (
            (MailboxFolderSelectError, "there is no such folder"),
            (ssl.SSLCertVerificationError, "its certificate is not trusted"),
        )
        reason = next(
            (words for kind, words in kinds if isinstance(error, kind)),
            f"it cannot be reached: {type(error).__name__}",
        )
        return SourceUnavailable(f"{self._settings.name}: {reason}.")


def _fetch(
    mailbox: BaseMailBox, uids: Sequence[str], wanted: str
) -> dict[str, tuple[bytes, bytes]]:
    """Return attributes and requested bytes of messages by UID."""
    status, answer = mailbox.client.uid("FETCH", ",".join(uids), wanted)
    if status != "OK":
        raise imaplib.IMAP4.error(status)
    messages = {}
    for position, item in enumerate(answer):
        if not isinstance(item, tuple):
            continue
        after = answer[position + 1] if position + 1 < len(answer) else b""
        # Attributes may also follow the bytes.
        attributes = item[0] + b" " + (after if isinstance(after, bytes) else b"")
        if uid := _UID.search(attributes):
            messages[uid[1].decode()] = (attributes, item[1])
    return messages
