"""What work on a file, a document or a collection came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from corpus.ingestion.store import StoredDocument


class Outcome(StrEnum):
    """What became of it: of a file up to ``WAITING``, then of a page, of a document, of a map.

    What was refused is at fault itself and would be refused again, what failed need not. A file
    that waits is still being written. A page that was skipped has nothing that could be taken in.
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
    DRAWN = "drawn"
    CHANGED = "changed"
    MOVED = "moved"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What became of one of them; ``reason`` says why, where it failed."""

    outcome: Outcome
    document_id: str = ""
    chunk_count: int = 0
    encoded_count: int = 0
    reason: str = ""

    @classmethod
    def of_stored(cls, stored: StoredDocument) -> Self:
        outcome = Outcome.ADDED if stored.is_new else Outcome.REPLACED
        return cls(outcome, stored.document_id, stored.chunk_count, stored.encoded_count)

    @property
    def has_failed(self) -> bool:
        return self.outcome in {Outcome.REFUSED, Outcome.FAILED}
