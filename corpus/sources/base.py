"""The port by which a collection mirrors another program."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """What a source lists: something that becomes a document.

    Attributes:
        uri: Its address, the same as long as it is there, at most 2,048 characters. It is shown
            to whoever sees the document: no credential and no path of this machine is in it.
        version: Another one whenever reading it would give something else. An entry that has the
            version of last time is not read.
    """

    uri: str
    version: str


@dataclass(frozen=True, slots=True)
class EntryFile:
    """A file of an entry, with what the source knows of it.

    Attributes:
        filename: Its extension tells the format where the content does not.
        title: Empty: as the file says itself.
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
    """An entry as it was read.

    Attributes:
        version: Of what was read, which may be newer than what was listed.
        part: Its document.
        fallback_text: The text of it by the source, for a file that holds none or that no loader
            reads.
        attached: Files that it carries, which become documents of their own, each by its address.
    """

    version: str
    part: EntryFile
    fallback_text: str = ""
    attached_files: Mapping[str, EntryFile] = field(default_factory=dict)


class Source(Protocol):
    """One source; used by one thread at a time."""

    def list_entries(self) -> Iterable[Entry]:
        """List everything that is there.

        A listing that breaks off raises: what it lacks would be taken for gone. What has changed
        since the last time, the versions tell.

        Raises:
            SourceUnavailable: It cannot be listed now.
        """
        ...

    def read(self, uri: str) -> EntryContent:
        """Read what was listed, maybe by another process.

        Raises:
            SourceUnavailable: It cannot be read now, be that for the source or for itself.
            TooLarge: It would be refused by its size.
        """
        ...

    def close(self) -> None:
        """Let go of connections. It may be used again, and then connects anew."""
        ...
