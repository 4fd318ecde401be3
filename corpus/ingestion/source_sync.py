"""Ingest entries of a source, with their attachments, as documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from django.db import transaction

from corpus.errors import (
    BackendError,
    BinaryText,
    CollectionNotFound,
    DuplicateDocument,
    EmptyDocument,
    NoRoomLeft,
    PkbError,
    UnreadableFile,
    UnsupportedMediaType,
)
from corpus.ingestion.document_writer import StoredDocument
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.file_sync import duplicate_message
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.normal_form import clean_json
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.placeholders import store_failure
from corpus.ingestion.submission import (
    Attributes,
    IngestOptions,
    Submission,
    SubmittedFile,
    clean_attribute,
    valid_tags,
)
from corpus.models import Collection, Document
from corpus.models.document import DocumentQuerySet
from corpus.sources.source import EntryContent, EntryFile
from corpus.times import is_storable_time

# Key in a document's metadata of its source, the URI of its entry, and the version that was read.
MIRROR = "mirror"

_TEXTLESS = (EmptyDocument, UnreadableFile, UnsupportedMediaType, BinaryText)


@dataclass(frozen=True, slots=True)
class Mirror:
    """Options of ingesting the entries of a source.

    Attributes:
        source: Name of the source, also the documents' label.
        fingerprint: ``settings_sha256`` of the collection.
        tags: Additional tags of every document.
        is_listed: Returns whether the source lists an entry, by its URI.
    """

    source: str
    collection: Collection
    fingerprint: str
    tags: tuple[str, ...]
    is_listed: Callable[[str], bool]
    on_embedding: Callable[[], None] = lambda: None

    def at(self, uri: str) -> DocumentQuerySet:
        return Document.objects.filter(collection=self.collection, source_uri=uri)

    def source_ref(self, entry: str, version: str = "") -> dict[str, str]:
        return {"source": self.source, "entry": entry, "version": version}


def documents_of(source: str, *, collection_id: int) -> DocumentQuerySet:
    """Return the documents of a source's entries and their attachments."""
    return Document.objects.filter(
        collection_id=collection_id, metadata__contains={MIRROR: {"source": source}}
    )


def source_ref_of(metadata: Any) -> Mapping[str, str]:
    """Return the source, entry and version of a document; clients may have written the metadata."""
    kept = metadata.get(MIRROR) if isinstance(metadata, dict) else None
    source_ref = kept if isinstance(kept, dict) else {}
    return {name: str(source_ref.get(name, "")) for name in ("source", "entry", "version")}


def ingest_entry(uri: str, reading: EntryContent, *, mirror: Mirror) -> ItemResult:
    """Ingest an entry and replace its last version.

    Attachments are ingested first: once the entry's document has the version, all is stored. An
    attachment that cannot be ingested is left out, with the reason in the entry's metadata.

    Raises:
        PkbError: The entry cannot be ingested.
        NoRoomLeft: As ``ingest_submission``, also for attachments.
    """
    attached_files = [
        _attach(each, part, uri, mirror) for each, part in reading.attached_files.items()
    ]
    metadata = {
        **reading.part.metadata,
        **({"attachments": attached_files} if attached_files else {}),
    }
    part = replace(reading.part, metadata=metadata)
    source_ref = mirror.source_ref(uri, reading.version)
    try:
        result = _store(uri, part, source_ref, mirror)
    except _TEXTLESS:
        if not reading.fallback_text.strip():
            raise
        result = _store(uri, _as_text(part, reading.fallback_text), source_ref, mirror)
    _drop_detached(uri, kept=[uri, *reading.attached_files], mirror=mirror)
    return result


def record_rejection(uri: str, reason: str, *, version: str, mirror: Mirror) -> None:
    """Store that an entry was rejected; the same version is not tried again."""
    known = mirror.at(uri).only("metadata").first()
    placeholder = Document(collection=mirror.collection, source_uri=uri, source=mirror.source)
    store_failure(
        placeholder,
        error=reason,
        settings_sha256=mirror.fingerprint,
        metadata={**(known.metadata if known else {}), MIRROR: mirror.source_ref(uri, version)},
    )


def _as_text(part: EntryFile, text: str) -> EntryFile:
    name = f"{PurePath(part.filename).stem or 'document'}.txt"
    return replace(part, content=text.encode(errors="replace"), filename=name, media_type="")


def _attach(uri: str, part: EntryFile, owner: str, mirror: Mirror) -> dict[str, str]:
    """Ingest an attachment; return its metadata, with its document or the error."""
    part = replace(part, metadata={**part.metadata, "attached_to": owner})
    try:
        result = _store(uri, part, mirror.source_ref(owner), mirror)
    except (BackendError, CollectionNotFound, NoRoomLeft):
        raise
    except PkbError as exc:
        mirror.at(uri).only("pk", "collection").delete()
        return {"filename": part.filename, "error": error_reason(exc)}
    return {"filename": part.filename, "source_uri": uri, "document_id": result.document_id}


def _store(uri: str, part: EntryFile, source_ref: Mapping[str, str], mirror: Mirror) -> ItemResult:
    known = mirror.at(uri).select_related("collection").defer("raw_text", "outline").first()
    attributes = _attributes(uri, part, source_ref, mirror)
    if known and not source_ref["version"] and _is_same(known, attributes):
        metadata = {**known.metadata, **attributes.metadata}
        Document.objects.filter(pk=known.pk).update(metadata=metadata)
        return ItemResult(Outcome.UNCHANGED, str(known.pk), known.chunk_count)

    def store(replacing: Document | None) -> StoredDocument:
        file = SubmittedFile(part.content, part.filename, part.media_type)
        options = IngestOptions(replacing=replacing, on_embedding=mirror.on_embedding)
        return ingest_submission(
            Submission(file, attributes, options), collection=mirror.collection
        )

    try:
        stored = store(known if known and known.content_sha256 else None)
    except DuplicateDocument as exc:
        return _settle_duplicate(uri, exc.document_id, store, mirror)
    return _result(Outcome.ADDED if stored.is_new else Outcome.REPLACED, stored)


def _result(outcome: Outcome, stored: StoredDocument) -> ItemResult:
    return ItemResult(outcome, stored.document_id, stored.chunk_count, stored.encoded_count)


def _is_same(known: Document, attributes: Attributes) -> bool:
    is_stored = known.status == Document.Status.COMPLETED
    now = (attributes.file_hash, attributes.settings_sha256)
    return is_stored and (known.file_hash, known.settings_sha256) == now


@transaction.atomic
def _settle_duplicate(
    uri: str,
    holder_id: str,
    store: Callable[[Document | None], StoredDocument],
    mirror: Mirror,
) -> ItemResult:
    """Return the result of duplicate content; take over its document if that entry is gone."""
    rows = Document.objects.select_related("collection").defer("raw_text", "outline")
    holder = rows.filter(pk=holder_id).first()
    mirror.at(uri).exclude(pk=holder_id).only("pk", "collection").delete()
    source_ref = source_ref_of(holder.metadata if holder else None)
    if source_ref["source"] == mirror.source and not mirror.is_listed(source_ref["entry"]):
        return _result(Outcome.RENAMED, store(holder))
    return ItemResult(Outcome.UNCHANGED, holder_id, reason=duplicate_message(holder_id))


def _drop_detached(uri: str, *, kept: Sequence[str], mirror: Mirror) -> None:
    """Delete the documents of attachments that an entry has no more."""
    of_entry = {MIRROR: {"source": mirror.source, "entry": uri}}
    found = Document.objects.filter(collection=mirror.collection, metadata__contains=of_entry)
    for document in found.exclude(source_uri__in=kept).only("pk", "collection", "source_uri"):
        document.delete()


def _attributes(
    uri: str, part: EntryFile, source_ref: Mapping[str, str], mirror: Mirror
) -> Attributes:
    metadata = clean_json({**part.metadata, MIRROR: {k: v for k, v in source_ref.items() if v}})
    return Attributes(
        source_uri=uri,
        source=mirror.source,
        title=clean_attribute(part.title, "title"),
        tags=(*mirror.tags, *valid_tags(part.tags)),
        metadata=metadata,
        user_created_at=_storable_time(part.created_at),
        last_modified=_storable_time(part.modified_at),
        file_hash=sha256(part.content).hexdigest(),
        settings_sha256=mirror.fingerprint,
        size_bytes=len(part.content),
    )


def _storable_time(moment: datetime | None) -> datetime | None:
    return moment if moment and is_storable_time(moment) else None
