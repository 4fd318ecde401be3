"""An mbox file: messages separated by lines that begin with "From "."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from time import time
from typing import Literal
from urllib.parse import quote

from pydantic import Field

from corpus.errors import SourceUnavailable
from corpus.sources.mail.folder import MailSource
from corpus.sources.mail.threads import MAX_HEAD_BYTES, MessageHead, read_head
from corpus.sources.source_settings import SourceSettings

# How an mbox begins, and each message in it.
MBOX_BEGIN = b"From "
# Bytes read at once from an overlong line.
_LINE_BYTES = 2**20
# Seconds without changes before reading: a program without locks may be writing.
QUIET_S = 2.0
# Maximum length of a Message-ID used as key.
_MAX_NAME_CHARS = 250
# An escaped line of text that looked like the start of a message.
_QUOTED = re.compile(rb"^>(>*From )", re.M)


class Settings(SourceSettings):
    """An mbox file on this machine."""

    kind: Literal["mbox"]
    path: Path = Field(description="absolute")

    @property
    def address(self) -> str:
        return self.path.name

    def open(self, *, max_bytes: int) -> MailSource:
        return MailSource(Mbox(self.name, self.path), max_bytes=max_bytes)


class Mbox:
    """An mbox file; Message-IDs, or else hashes, identify messages."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path = name, path
        self._spans: dict[str, tuple[int, int]] = {}

    def list_heads(self) -> Iterator[MessageHead]:
        self._spans = {}
        with self._locked() as file:
            before = os.fstat(file.fileno())
            if 0 <= time() - before.st_mtime < QUIET_S:
                raise self._busy()
            heads = []
            for position, (start, end, beginning, digest) in enumerate(_split(file)):
                head = read_head(
                    beginning, key="", version=digest, position=position, size_bytes=end - start
                )
                name = quote(head.message_id, safe="@", errors="replace")
                if not 0 < len(name) <= _MAX_NAME_CHARS:
                    name = f"sha256-{digest[:32]}"
                key = f"mbox:{self._name}#{name}"
                if key in self._spans:
                    # A copy, or a program that reuses a Message-ID.
                    key = f"{key}-{digest[:16]}"
                if key not in self._spans:
                    self._spans[key] = (start, end)
                    heads.append(replace(head, key=key))
            if before.st_size and not heads:
                raise SourceUnavailable(f"{self._name}: not an mbox file.")
            after = os.fstat(file.fileno())
            if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
                raise self._busy()
        yield from heads

    def read_message(self, head: MessageHead) -> bytes:
        start, end = self._spans[head.key]
        with self._locked() as file:
            file.seek(start)
            content = file.read(end - start)
        if sha256(content).hexdigest() != head.version:
            # It was rewritten after the listing; the next sync finds the message.
            raise self._busy()
        return _QUOTED.sub(rb"\1", content)

    def close(self) -> None:
        self._spans = {}

    @contextmanager
    def _locked(self) -> Iterator[BufferedReader]:
        """Open and lock it against programs that use lock files or system locks."""
        if self._path.with_name(f"{self._path.name}.lock").exists():
            raise self._busy()
        try:
            with self._path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                yield file
        except BlockingIOError as exc:
            raise self._busy() from exc
        except OSError as exc:
            raise SourceUnavailable(
                f"{self._name}: {exc.strerror or 'it cannot be read'}."
            ) from exc

    def _busy(self) -> SourceUnavailable:
        return SourceUnavailable(f"{self._name}: somebody is writing it; the next sync reads it.")


def _split(file: BufferedReader) -> Iterator[tuple[int, int, bytes, str]]:
    """Yield start, end, first bytes and content hash of each message."""
    start, head, digest = -1, b"", sha256()
    position, after_empty, in_line = 0, True, False
    while line := file.readline(_LINE_BYTES):
        if after_empty and not in_line and line.startswith(MBOX_BEGIN):
            if start >= 0:
                yield start, position, head, digest.hexdigest()
            start, head, digest = position + len(line), b"", sha256()
        elif start >= 0:
            digest.update(line)
            head = head + line if len(head) < MAX_HEAD_BYTES else head
        position += len(line)
        after_empty = not in_line and line in {b"\n", b"\r\n"}
        in_line = not line.endswith(b"\n")
    if start >= 0:
        yield start, position, head, digest.hexdigest()
