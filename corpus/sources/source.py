"""The interface by which a collection mirrors another program."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from corpus.errors import PkbError


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of a source that becomes a document.

    Attributes:
        uri: Its stable URI, at most 2,048 characters. Readers of the document see it, so it must
            contain no credential and no path of this machine.
        version: Changes whenever the content changes. An entry with an unchanged version is not
            read.
        error: Why it cannot be read, if the listing shows that.
    """

    uri: str
    version: str
    error: PkbError | OSError | None = None


@dataclass(frozen=True, slots=True)
class EntryFile:
    """A file of an entry, with its metadata from the source.

    Attributes:
        filename: Its extension decides the format if the content does not.
        title: If empty, the title in the file is used.
        metadata: JSON values.
    """

    content: bytes
    filename: str
    media_type: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    modified_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntryContent:
    """The content of an entry.

    Attributes:
        version: Version of the content, which may be newer than the listed one.
        part: File of the main document.
        fallback_text: Text from the source, for a file without text or without a loader.
        attached_files: Attachments, which become separate documents, by URI.
    """

    version: str
    part: EntryFile
    fallback_text: str = ""
    attached_files: Mapping[str, EntryFile] = field(default_factory=dict)


class Source(Protocol):
    """A source; used by one thread at a time."""

    def list_entries(self) -> Iterable[Entry]:
        """List all entries.

        An incomplete listing must raise: missing entries count as deleted. The versions show what
        changed since the last listing.

        Raises:
            SourceUnavailable: It cannot be listed now.
        """
        ...

    def read(self, uri: str) -> EntryContent:
        """Read an entry that was listed, maybe by another process.

        Raises:
            SourceUnavailable: It cannot be read now.
            TooLarge: It exceeds the size limit.
        """
        ...

    def close(self) -> None:
        """Close connections. A later call connects again."""
        ...
