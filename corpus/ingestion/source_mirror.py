"""Keep the documents of a collection in sync with a source of ``PKB_SOURCES``."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from corpus.characters import is_storable
from corpus.errors import (
    BackendError,
    BinaryText,
    CollectionNotFound,
    EmptyDocument,
    NoRoomLeft,
    PkbError,
    SourceUnavailable,
    UnreadableFile,
    UnsupportedMediaType,
)
from corpus.ingestion.decisions import Action, KnownDocument, decide
from corpus.ingestion.file_scan import MAX_URI_CHARS, error_reason
from corpus.ingestion.mirror import ListedEntry, Mirror, StaleDocument
from corpus.ingestion.normal_form import clean_json
from corpus.ingestion.outcomes import ItemResult
from corpus.ingestion.submission import Attributes, SubmittedFile, clean_attribute, valid_tags
from corpus.models import Collection, Document
from corpus.models.document import DocumentQuerySet
from corpus.sources.source import Entry, EntryContent, EntryFile, Source
from corpus.sources.source_settings import SourceSettings
from corpus.times import is_storable_time

# Key in a document's metadata of its source, the URI of its entry, and the version that was read.
MIRROR = "mirror"
# Entries of one transaction.
BATCH_SIZE = 500

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


@dataclass
class OpenSource:
    """An open source.

    Attributes:
        entries: The entries of the last listing by this process, by URI.
        failure_count: Entries since the last one that could be read.
    """

    settings: SourceSettings
    source: Source
    entries: Mapping[str, Entry] = field(default_factory=dict)
    failure_count: int = 0

    def list_entries(self) -> Mapping[str, Entry]:
        """List the entries by URI.

        Raises:
            SourceUnavailable: The source cannot be listed, or lists URIs that cannot be stored.
        """
        entries: dict[str, Entry] = {}
        for entry in self.source.list_entries():
            if not 0 < len(entry.uri) <= MAX_URI_CHARS or not is_storable(entry.uri):
                raise SourceUnavailable("The source lists a URL that cannot be stored.")
            entries[entry.uri] = entry
        self.entries = entries
        return entries


class SourceMirror(Mirror):
    """Entries of a source, with their attachments as separate documents.

    No document waits for its entry: the old version stays until the new one is stored.

    Args:
        may_be_empty: Accept that a source has no entries any more.
        is_listed: Returns whether the source lists an entry, by its URI.
    """

    def __init__(
        self,
        opened: OpenSource,
        collection: Collection,
        *,
        may_be_empty: bool = False,
        is_listed: Callable[[str], bool] = lambda uri: True,
        on_embedding: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            collection,
            label=opened.settings.name,
            tags=opened.settings.tags,
            on_embedding=on_embedding,
        )
        self._opened = opened
        self._may_be_empty = may_be_empty
        self._is_listed = is_listed

    def list_entries(self) -> Iterator[list[ListedEntry]]:
        """List the entries, those with a document before new ones.

        In this order, content that moved from one entry to another is released before it is read.

        Raises:
            SourceUnavailable: The source cannot be listed, or is empty, but was not before.
        """
        entries = self._opened.list_entries()
        known = self._known_documents(entries.keys())
        if not entries and known and not self._may_be_empty:
            raise SourceUnavailable(
                f"{self._label} has nothing now, as one has that another account is asked for: its"
                f" documents ({len(known)}) stay. If it was emptied on purpose: manage.py"
                f" sync_source {self._label} --emptied"
            )
        listed = [ListedEntry(uri, entry, known.get(uri)) for uri, entry in entries.items()]
        listed.sort(key=lambda each: each.known is None)
        for start in range(0, len(listed), BATCH_SIZE):
            yield listed[start : start + BATCH_SIZE]

    def sync(self, name: str) -> ItemResult:
        """Ingest an entry and replace its last version.

        Raises:
            SourceUnavailable: It cannot be read now; its document stays.
            BackendError, CollectionNotFound: As ``ingest_submission``; its document stays.
            PkbError: It cannot be ingested; the same version is not tried again.
        """
        opened = self._opened
        version = opened.entries[name].version if name in opened.entries else ""
        try:
            content = opened.source.read(name)
            opened.failure_count, version = 0, content.version
            return self._sync_content(name, content)
        except (BackendError, CollectionNotFound):
            raise
        except SourceUnavailable:
            opened.failure_count += 1
            raise
        except PkbError as exc:
            known = self._documents_at(name).first()
            # A later sync tries the same version again.
            version = "" if isinstance(exc, NoRoomLeft) else version
            source_ref = {"source": self._label, "entry": name, "version": version}
            self.mark_failed(
                Document(collection=self._collection, source_uri=name, source=self._label),
                error_reason(exc),
                settings_sha256=self._fingerprint,
                metadata={**(known.metadata if known else {}), MIRROR: source_ref},
            )
            raise

    def find_stale(self, listed: Set[str] | None = None) -> Iterator[StaleDocument]:
        """Yield the documents, also of attachments, of entries that are not listed.

        Args:
            listed: URIs of entries, by default of the last listing.
        """
        listed = self._opened.entries.keys() if listed is None else listed
        rows = documents_of(self._label, collection_id=self._collection.pk)
        for pk, uri, metadata in rows.values_list("pk", "source_uri", "metadata"):
            if source_ref_of(metadata)["entry"] not in listed:
                yield StaleDocument(pk, uri, uri)

    def is_gone(self, document: Document) -> bool:
        source_ref = source_ref_of(document.metadata)
        return source_ref["source"] == self._label and not self._is_listed(source_ref["entry"])

    def _known_documents(self, listed: Set[str]) -> dict[str, KnownDocument]:
        """Return the documents of entries by URI.

        A document is incomplete if that of an attachment is deleted, or will be because its entry
        is not listed.
        """
        known: dict[str, KnownDocument] = {}
        attachment_ids: dict[str, set[str]] = {}
        for row in documents_of(self._label, collection_id=self._collection.pk).iterator():
            source_ref = source_ref_of(row.metadata)
            if source_ref["entry"] == row.source_uri:
                known[row.source_uri] = KnownDocument.of(row, version=source_ref["version"])
                attachment_ids[row.source_uri] = {
                    str(each["document_id"])
                    for each in row.metadata.get("attachments") or []
                    if isinstance(each, dict) and "document_id" in each
                }
        attachments = Document.objects.filter(pk__in=set().union(*attachment_ids.values()))
        stored = {
            str(pk)
            for pk, metadata in attachments.values_list("pk", "metadata")
            if source_ref_of(metadata)["entry"] in {"", *listed}
        }
        for uri, document_ids in attachment_ids.items():
            if not document_ids <= stored:
                known[uri] = replace(known[uri], is_complete=False, rejection="")
        return known

    def _sync_content(self, uri: str, content: EntryContent) -> ItemResult:
        """Ingest the content of an entry and delete the attachments that it has no more.

        Attachments are ingested first: once the entry's document has the version, all is stored.
        An attachment that cannot be ingested is left out, with the reason in the entry's metadata.
        """
        attachments: list[dict[str, str]] = []
        for attached_uri, file in content.attached_files.items():
            attached = replace(file, metadata={**file.metadata, "attached_to": uri})
            listed = {"filename": file.filename}
            try:
                stored = self._store_part(
                    attached_uri, attached, {"source": self._label, "entry": uri}
                )
                listed |= {"source_uri": attached_uri, "document_id": stored.document_id}
            except (BackendError, CollectionNotFound, NoRoomLeft):
                raise
            except PkbError as exc:
                self._documents_at(attached_uri).delete()
                listed["error"] = error_reason(exc)
            attachments.append(listed)
        part = content.part
        if attachments:
            part = replace(part, metadata={**part.metadata, "attachments": attachments})
        source_ref = {"source": self._label, "entry": uri, "version": content.version}
        try:
            result = self._store_part(uri, part, source_ref)
        except _TEXTLESS:
            if not content.fallback_text.strip():
                raise
            text = replace(
                part,
                content=content.fallback_text.encode(errors="replace"),
                filename=f"{PurePath(part.filename).stem or 'document'}.txt",
                media_type="",
            )
            result = self._store_part(uri, text, source_ref)
        documents = documents_of(self._label, collection_id=self._collection.pk)
        of_entry = documents.filter(metadata__contains={MIRROR: {"entry": uri}})
        of_entry.exclude(source_uri__in=[uri, *content.attached_files]).delete()
        return result

    def _store_part(self, uri: str, part: EntryFile, source_ref: Mapping[str, str]) -> ItemResult:
        """Ingest the file of an entry, or of an attachment, whose ``source_ref`` has no version."""
        attributes = Attributes(
            source_uri=uri,
            source=self._label,
            title=clean_attribute(part.title, "title"),
            tags=(*self._tags, *valid_tags(part.tags)),
            metadata=clean_json({**part.metadata, MIRROR: dict(source_ref)}),
            user_created_at=_storable_time(part.created_at),
            last_modified=_storable_time(part.modified_at),
            file_hash=sha256(part.content).hexdigest(),
            settings_sha256=self._fingerprint,
            size_bytes=len(part.content),
        )
        known = self._documents_at(uri).first()
        if known and "version" not in source_ref:
            entry = Entry(uri, attributes.file_hash)
            decision = decide(entry, KnownDocument.of(known), fingerprint=self._fingerprint)
            if decision.action == Action.KEEP:
                merged = {**known.metadata, **attributes.metadata}
                self._documents_at(uri).update(metadata=merged)
                return decision.result
        return self._store(SubmittedFile(part.content, part.filename, part.media_type), attributes)


def _storable_time(moment: datetime | None) -> datetime | None:
    return moment if moment and is_storable_time(moment) else None
