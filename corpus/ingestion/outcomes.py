"""Results of job items."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from corpus.ingestion.document_writer import StoredDocument


class Outcome(StrEnum):
    """The result of a file, page, document, map or row of a grid.

    ``REFUSED`` content would be rejected again; ``FAILED`` items may succeed later. A ``WAITING``
    file is still being written. A ``SKIPPED`` page has no content to ingest.
    """

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    RENAMED = "renamed"
    REMOVED = "removed"
    WAITING = "waiting"
    REDIRECTED = "redirected"
    SKIPPED = "skipped"
    EMBEDDED = "embedded"
    CHANGED = "changed"
    MOVED = "moved"
    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of an item; ``reason`` is set if it failed."""

    outcome: Outcome
    document_id: str = ""
    chunk_count: int = 0
    encoded_count: int = 0
    reason: str = ""

    @classmethod
    def from_stored(cls, stored: StoredDocument) -> Self:
        outcome = Outcome.ADDED if stored.is_new else Outcome.REPLACED
        return cls(outcome, stored.document_id, stored.chunk_count, stored.encoded_count)

    @property
    def has_failed(self) -> bool:
        return self.outcome in {Outcome.REFUSED, Outcome.FAILED}
