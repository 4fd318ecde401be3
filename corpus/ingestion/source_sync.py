"""Ingest entries of a source, with their attachments, as documents."""

from collections.abc import Callable, Mapping
from dataclasses import replace
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
from corpus.ingestion.decisions import Action, KnownDocument, decide
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.file_sync import ingest_fingerprint
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.normal_form import clean_json
from corpus.ingestion.outcomes import ItemResult
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
from corpus.sources.source import Entry, EntryContent, EntryFile
from corpus.times import is_storable_time

# Key in a document's metadata of its source, the URI of its entry, and the version that was read.
MIRROR = "mirror"

_TEXTLESS = (EmptyDocument, UnreadableFile, UnsupportedMediaType, BinaryText)


def documents_of(source: str, *, collection_id: int) -> DocumentQuerySet:
    """Return the documents of a source's entries and their attachments."""
    return Document.objects.filter(
        collection_id=collection_id, metadata__contains={MIRROR: {"source": source}}
    )


def source_ref_of(metadata: Any) -> Mapping[str, str]:
    """Return the source, entry and version of a document; clients may have written the metadata."""
    value = metadata.get(MIRROR) if isinstance(metadata, dict) else None
    source_ref = value if isinstance(value, dict) else {}
    return {name: str(source_ref.get(name, "")) for name in ("source", "entry", "version")}


class EntrySync:
    """Ingests entries of a source into a collection.

    Args:
        source: Name of the source, also the documents' label.
        tags: Additional tags of every document.
        is_listed: Returns whether the source lists an entry, by its URI.
        on_embedding: Called before the chunks of a file are embedded.
    """

    def __init__(
        self,
        source: str,
        collection: Collection,
        *,
        tags: tuple[str, ...],
        is_listed: Callable[[str], bool],
        on_embedding: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._collection = collection
        self._tags = tags
        self._is_listed = is_listed
        self._on_embedding = on_embedding
        self._fingerprint = ingest_fingerprint(collection, tags=tags)

    def sync(self, uri: str, content: EntryContent) -> ItemResult:
        """Ingest an entry and replace its last version.

        Attachments are ingested first: once the entry's document has the version, all is stored.
        An attachment that cannot be ingested is left out, with the reason in the entry's metadata.

        Raises:
            PkbError: The entry cannot be ingested.
            NoRoomLeft: As ``ingest_submission``, also for attachments.
        """
        attachments = [
            self._attach(each, part, owner=uri) for each, part in content.attached_files.items()
        ]
        part = content.part
        if attachments:
            part = replace(part, metadata={**part.metadata, "attachments": attachments})
        source_ref = self._source_ref(uri, content.version)
        try:
            result = self._store(uri, part, source_ref)
        except _TEXTLESS:
            if not content.fallback_text.strip():
                raise
            text = replace(
                part,
                content=content.fallback_text.encode(errors="replace"),
                filename=f"{PurePath(part.filename).stem or 'document'}.txt",
                media_type="",
            )
            result = self._store(uri, text, source_ref)
        # Delete the documents of attachments that the entry has no more.
        of_entry = {MIRROR: {"source": self._source, "entry": uri}}
        documents = Document.objects.filter(
            collection=self._collection, metadata__contains=of_entry
        )
        detached = documents.exclude(source_uri__in=[uri, *content.attached_files])
        for document in detached.only("pk", "collection", "source_uri"):
            document.delete()
        return result

    def record_rejection(self, uri: str, reason: str, *, version: str) -> None:
        """Store that an entry was rejected; the same version is not tried again."""
        known = self._documents_at(uri).only("metadata").first()
        source_ref = self._source_ref(uri, version)
        store_failure(
            Document(collection=self._collection, source_uri=uri, source=self._source),
            error=reason,
            settings_sha256=self._fingerprint,
            metadata={**(known.metadata if known else {}), MIRROR: source_ref},
        )

    def _documents_at(self, uri: str) -> DocumentQuerySet:
        return Document.objects.filter(collection=self._collection, source_uri=uri)

    def _source_ref(self, entry: str, version: str = "") -> dict[str, str]:
        return {"source": self._source, "entry": entry, "version": version}

    def _attach(self, uri: str, part: EntryFile, *, owner: str) -> dict[str, str]:
        """Ingest an attachment; return its metadata, with its document or the error."""
        part = replace(part, metadata={**part.metadata, "attached_to": owner})
        try:
            result = self._store(uri, part, self._source_ref(owner))
        except (BackendError, CollectionNotFound, NoRoomLeft):
            raise
        except PkbError as exc:
            self._documents_at(uri).only("pk", "collection").delete()
            return {"filename": part.filename, "error": error_reason(exc)}
        return {"filename": part.filename, "source_uri": uri, "document_id": result.document_id}

    def _store(self, uri: str, part: EntryFile, source_ref: Mapping[str, str]) -> ItemResult:
        """Ingest the file of an entry, or of an attachment, whose ``source_ref`` has no version."""
        rows = self._documents_at(uri).select_related("collection").defer("raw_text", "outline")
        known = rows.first()
        metadata = {**part.metadata, MIRROR: {k: v for k, v in source_ref.items() if v}}
        attributes = Attributes(
            source_uri=uri,
            source=self._source,
            title=clean_attribute(part.title, "title"),
            tags=(*self._tags, *valid_tags(part.tags)),
            metadata=clean_json(metadata),
            user_created_at=_storable_time(part.created_at),
            last_modified=_storable_time(part.modified_at),
            file_hash=sha256(part.content).hexdigest(),
            settings_sha256=self._fingerprint,
            size_bytes=len(part.content),
        )
        if known and not source_ref["version"]:
            entry = Entry(uri, attributes.file_hash)
            decision = decide(entry, KnownDocument.of(known), fingerprint=self._fingerprint)
            if decision.action == Action.KEEP:
                merged = {**known.metadata, **attributes.metadata}
                Document.objects.filter(pk=known.pk).update(metadata=merged)
                return decision.result
        replacing = known if known and known.content_sha256 else None
        try:
            return self._ingest(part, attributes, replacing)
        except DuplicateDocument as exc:
            return self._settle_duplicate(part, attributes, exc.document_id)

    def _ingest(
        self, part: EntryFile, attributes: Attributes, replacing: Document | None
    ) -> ItemResult:
        file = SubmittedFile(part.content, part.filename, part.media_type)
        options = IngestOptions(replacing=replacing, on_embedding=self._on_embedding)
        submission = Submission(file, attributes, options)
        stored = ingest_submission(submission, collection=self._collection)
        return ItemResult.from_stored(stored)

    @transaction.atomic
    def _settle_duplicate(
        self, part: EntryFile, attributes: Attributes, holder_id: str
    ) -> ItemResult:
        """Return the result of duplicate content; take over its document if that entry is gone."""
        uri = attributes.source_uri
        rows = Document.objects.select_related("collection").defer("raw_text", "outline")
        holder = rows.filter(pk=holder_id).first()
        self._documents_at(uri).exclude(pk=holder_id).only("pk", "collection").delete()
        source_ref = source_ref_of(holder.metadata if holder else None)
        is_ours = source_ref["source"] == self._source
        twin = KnownDocument(
            holder_id, is_gone=is_ours and not self._is_listed(source_ref["entry"])
        )
        decision = decide(Entry(uri, source_ref["version"]), None, twins=[twin])
        if decision.action == Action.DUPLICATE:
            return decision.result
        return replace(self._ingest(part, attributes, holder), outcome=decision.result.outcome)


def _storable_time(moment: datetime | None) -> datetime | None:
    return moment if moment and is_storable_time(moment) else None
