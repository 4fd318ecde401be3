"""The interface of mail folders, and a mail folder as a source."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Protocol

from corpus.errors import SourceUnavailable, TooLarge
from corpus.sources.mail.messages import read_thread
from corpus.sources.mail.threads import MessageHead, find_threads
from corpus.sources.source import Entry, EntryContent


class MailFolder(Protocol):
    """A read-only folder of messages."""

    def list_heads(self) -> Iterable[MessageHead]:
        """List the headers of all messages.

        Raises:
            SourceUnavailable: They cannot be listed now.
        """
        ...

    def read_message(self, head: MessageHead) -> bytes:
        """Return a listed message.

        Raises:
            SourceUnavailable: It cannot be read now.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class MailSource:
    """A mail folder as a source; its entries are threads, identified by their first message."""

    def __init__(self, folder: MailFolder, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._threads: dict[str, list[MessageHead]] = {}

    def list_entries(self) -> Iterator[Entry]:
        threads = find_threads(self._folder.list_heads())
        self._threads = {thread[0].key: thread for thread in threads}
        for uri, thread in self._threads.items():
            yield Entry(uri, _version(thread))

    def read(self, uri: str) -> EntryContent:
        if uri not in self._threads:
            # Listed by another process, or just deleted.
            list(self.list_entries())
        thread = self._threads.get(uri)
        if thread is None:
            raise SourceUnavailable("The thread no longer exists.")
        fitting = [head for head in thread if head.size_bytes <= self._max_bytes]
        if not fitting:
            raise TooLarge(f"The message has more than {self._max_bytes:,} bytes.")
        messages = ((head, self._folder.read_message(head)) for head in fitting)
        left_out = len(thread) - len(fitting)
        return read_thread(messages, version=_version(thread), left_out=left_out)

    def close(self) -> None:
        self._folder.close()


def _version(thread: list[MessageHead]) -> str:
    content = "\n".join(f"{head.key} {head.version}" for head in thread)
    return sha256(content.encode()).hexdigest()
