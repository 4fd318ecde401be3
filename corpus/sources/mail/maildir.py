"""A Maildir: one file for each message, in ``new`` and ``cur``; ``tmp`` is ignored."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import Field

from corpus.errors import SourceUnavailable
from corpus.sources.mail.folder import MailSource
from corpus.sources.mail.threads import MAX_HEAD_BYTES, MessageHead, read_head
from corpus.sources.source_settings import SourceSettings

# Flags follow it in a name, and change.
_FLAGS = ":"
_FOLDERS = ("cur", "new")


class Settings(SourceSettings):
    """A Maildir on this machine; a subfolder is a separate source."""

    kind: Literal["maildir"]
    path: Path = Field(description="absolute")

    @property
    def address(self) -> str:
        return self.path.name

    def open(self, *, max_bytes: int) -> MailSource:
        return MailSource(Maildir(self.name, self.path), max_bytes=max_bytes)


class Maildir:
    """A Maildir; file names without flags identify messages."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path = name, path
        self._paths: dict[str, Path] = {}

    def list_heads(self) -> Iterator[MessageHead]:
        self._find()
        for position, key in enumerate(sorted(self._paths)):
            beginning = self._read(key, MAX_HEAD_BYTES)
            if beginning is not None:
                head, size = beginning
                yield read_head(
                    head, key=key, version=str(size), position=position, size_bytes=size
                )

    def read_message(self, head: MessageHead) -> bytes:
        message = self._read(head.key, -1)
        if message is None:
            raise SourceUnavailable(f"{self._name}: the message no longer exists.")
        return message[0]

    def close(self) -> None:
        self._paths = {}

    def _find(self) -> None:
        paths: dict[str, Path] = {}
        for folder in _FOLDERS:
            try:
                with os.scandir(self._path / folder) as entries:
                    names = [each.name for each in entries if each.is_file(follow_symlinks=False)]
            except OSError as exc:
                raise self._unavailable(exc) from exc
            for name in sorted(name for name in names if not name.startswith(".")):
                unique = name.partition(_FLAGS)[0].encode(errors="surrogateescape")
                paths[f"maildir:{self._name}#{quote(unique)}"] = self._path / folder / name
        self._paths = paths

    def _read(self, key: str, max_bytes: int) -> tuple[bytes, int] | None:
        """Return the first bytes of a message, all for -1, and its size; None if it is gone.

        A mail program that shows it renames it to set flags, so it is searched again.
        """
        for _ in range(2):
            try:
                if key not in self._paths:
                    return None
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                with os.fdopen(os.open(self._paths[key], flags), "rb") as file:
                    status = os.fstat(file.fileno())
                    is_file = stat.S_ISREG(status.st_mode)
                    return (file.read(max_bytes), status.st_size) if is_file else None
            except FileNotFoundError:
                self._find()
            except OSError as exc:
                raise self._unavailable(exc) from exc
        return None

    def _unavailable(self, error: OSError) -> SourceUnavailable:
        return SourceUnavailable(f"{self._name}: {error.strerror or 'it cannot be read'}.")
