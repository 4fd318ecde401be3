"""Decide what a sync does with an entry of a folder, source or website, without any effect."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from corpus.errors import DuplicateDocument, NoRoomLeft, PkbError
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.models import Document
from corpus.sources.source import Entry


class Action(StrEnum):
    """A sync's action on an entry.

    ``KEEP``: its document is up to date. ``REJECT``: the same content was rejected before.
    ``MOVE``: the document of an entry that is gone has its content and becomes its document;
    ``MOVE_AND_REPLACE``: that document has outdated settings and is also ingested again.
    ``DUPLICATE``: another document has its content. ``FAIL``: it cannot be read.
    """

    ADD = "add"
    REPLACE = "replace"
    KEEP = "keep"
    REJECT = "reject"
    MOVE = "move"
    MOVE_AND_REPLACE = "move_and_replace"
    DUPLICATE = "duplicate"
    FAIL = "fail"


_OUTCOMES = {
    Action.ADD: Outcome.ADDED,
    Action.REPLACE: Outcome.REPLACED,
    Action.KEEP: Outcome.UNCHANGED,
    Action.REJECT: Outcome.REFUSED,
    Action.MOVE: Outcome.RENAMED,
    Action.MOVE_AND_REPLACE: Outcome.REPLACED,
    Action.DUPLICATE: Outcome.UNCHANGED,
}


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The stored document of an entry, or a twin: a document with the same content.

    Attributes:
        uri: The URI of its entry.
        version: Version of the entry that was read.
        fingerprint: ``settings_sha256`` of the ingestion.
        is_complete: Its content is stored, with all vectors.
        rejection: Why this version was rejected; empty if it was not.
        has_content: A version is stored, maybe an older one.
        is_gone: Of a twin: its own entry is gone or has other content.
    """

    document_id: str
    uri: str = ""
    version: str = ""
    fingerprint: str = ""
    is_complete: bool = True
    rejection: str = ""
    has_content: bool = True
    chunk_count: int = 0
    is_gone: bool = False

    @classmethod
    def of(cls, document: Document, *, version: str | None = None, is_gone: bool = False) -> Self:
        """Return what is known of a document; its version is the hash of its file by default."""
        return cls(
            str(document.pk),
            document.source_uri,
            version=document.file_hash if version is None else version,
            fingerprint=document.settings_sha256,
            is_complete=document.status == document.Status.COMPLETED,
            rejection=document.error if document.status == document.Status.FAILED else "",
            has_content=bool(document.content_sha256),
            chunk_count=document.chunk_count,
            is_gone=is_gone,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, and the document of the entry, or the twin that moves or has its content."""

    action: Action
    known: KnownDocument | None = None
    error: PkbError | OSError | None = None

    @property
    def needs_content(self) -> bool:
        """Return whether the entry must be loaded."""
        return self.action in {Action.ADD, Action.REPLACE, Action.MOVE_AND_REPLACE}

    @property
    def is_move(self) -> bool:
        """Return whether another document becomes the entry's document."""
        return self.action in {Action.MOVE, Action.MOVE_AND_REPLACE}

    @property
    def result(self) -> ItemResult:
        """Return the result of the entry, as far as it is known before it is loaded."""
        document_id = self.known.document_id if self.known else ""
        if self.error is not None:
            return replace(failed_result(self.error), document_id=document_id)
        outcome = _OUTCOMES[self.action]
        if self.known is None or self.action == Action.ADD:
            return ItemResult(outcome)
        if self.action == Action.DUPLICATE:
            return ItemResult(outcome, document_id, reason=str(DuplicateDocument(document_id)))
        if self.action == Action.REJECT:
            return ItemResult(outcome, document_id, reason=self.known.rejection)
        return ItemResult(outcome, document_id, self.known.chunk_count)


def decide(
    entry: Entry,
    known: KnownDocument | None,
    *,
    fingerprint: str = "",
    twins: Iterable[KnownDocument] = (),
    force: bool = False,
) -> Decision:
    """Return what a sync does with a listed entry.

    Args:
        known: The document of the entry.
        fingerprint: ``settings_sha256`` of the collection.
        twins: Other documents with the same content; looked at only if the entry has changed.
        force: Ingest the entry even if it is unchanged.
    """
    if entry.error is not None:
        return Decision(Action.FAIL, known, entry.error)
    first = None
    if not force:
        if known and (known.version, known.fingerprint) == (entry.version, fingerprint):
            if known.is_complete:
                return Decision(Action.KEEP, known)
            if known.rejection:
                return Decision(Action.REJECT, known)
        for twin in twins:
            if twin.is_gone:
                is_current = twin.fingerprint == fingerprint
                return Decision(Action.MOVE if is_current else Action.MOVE_AND_REPLACE, twin)
            first = first or twin
    if first is not None:
        return Decision(Action.DUPLICATE, first)
    return Decision(Action.REPLACE if known and known.has_content else Action.ADD, known)


def failed_result(error: PkbError | OSError) -> ItemResult:
    """Return the result of an entry that could not be ingested."""
    is_refused = isinstance(error, PkbError) and error.status < 500  # noqa: PLR2004
    # There may be room later.
    is_refused = is_refused and not isinstance(error, NoRoomLeft)
    outcome = Outcome.REFUSED if is_refused else Outcome.FAILED
    return ItemResult(outcome, reason=error_reason(error))
