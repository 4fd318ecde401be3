"""Keep the documents of a collection in sync with the entries of a source."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

from django.db import transaction

from corpus.errors import DuplicateDocument
from corpus.ingestion.decisions import Action, Decision, KnownDocument, decide
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.submission import Attributes, IngestOptions, Submission, SubmittedFile
from corpus.models import Collection, Document
from corpus.models.document import DocumentQuerySet
from corpus.sources.source import Entry
from corpus.webhooks import WebhookEvent, tell


def ingest_fingerprint(collection: Collection, *, tags: Sequence[str]) -> str:
    """Return the hash of the settings that decide how a file is chunked, embedded and tagged."""
    names = [field.name for field in Collection._meta.concrete_fields]
    deciding = [name for name in names if name.startswith("chunk_") or name == "embedding_model"]
    values = {name: getattr(collection, name) for name in deciding}
    canonical = json.dumps({**values, "tags": sorted(tags)}, sort_keys=True)
    return sha256(canonical.encode()).hexdigest()


class ListedEntry(NamedTuple):
    """A listed entry, with what is known of its document.

    Attributes:
        name: Its path or URI, which jobs and previews show.
        placeholder: An unsaved document, to show in lists that it is pending or has failed.
    """

    name: str
    entry: Entry
    known: KnownDocument | None
    placeholder: Document | None = None


class StaleDocument(NamedTuple):
    """A document whose entry is gone, with the name of the entry."""

    document_id: UUID
    source_uri: str
    name: str


class Mirror(ABC):
    """Documents of a collection, and the entries of the source that they mirror.

    Args:
        label: ``source`` of the documents.
        tags: Additional tags of every document.
        force: Ingest unchanged entries again.
        on_embedding: Called before the chunks of an entry are embedded.

    Attributes:
        skipped: Counts of what was not listed, by kind; complete after the last entry.
        version_is_hash: Entries of the same version have the same content.
    """

    version_is_hash: ClassVar[bool] = False

    def __init__(
        self,
        collection: Collection,
        *,
        label: str,
        tags: Sequence[str],
        force: bool = False,
        on_embedding: Callable[[], None] = lambda: None,
    ) -> None:
        self._collection = collection
        self.skipped: dict[str, int] = {}
        self._label = label
        self._tags = tuple(tags)
        self._force = force
        self._on_embedding = on_embedding
        self._fingerprint = ingest_fingerprint(collection, tags=tags)

    @abstractmethod
    def list_entries(self) -> Iterator[Sequence[ListedEntry]]:
        """List the entries in batches.

        Raises:
            SourceUnavailable: They cannot be listed now.
        """

    @abstractmethod
    def sync(self, name: str) -> ItemResult:
        """Read a listed entry by its name, and ingest it unless its document is up to date.

        Raises:
            PkbError, OSError: It cannot be read or ingested; its document stores the reason, unless
                that is temporary.
        """

    @abstractmethod
    def find_stale(self) -> Iterator[StaleDocument]:
        """Yield the documents whose entries are gone."""

    @abstractmethod
    def is_gone(self, document: Document) -> bool:
        """Return whether the entry of a document is gone, or has other content."""

    def find_twins(self, entry: Entry) -> Iterator[KnownDocument]:
        """Yield other documents that are known to have the content of an entry."""
        return iter(())

    def decide(self, listed: ListedEntry, twins: Iterable[KnownDocument] = ()) -> Decision:
        """Return what a sync does with an entry; without twins, as far as the listing shows it."""
        return decide(
            listed.entry,
            listed.known,
            fingerprint=self._fingerprint,
            twins=twins,
            force=self._force,
        )

    def preview(self) -> Iterator[tuple[str, ItemResult]]:
        """Yield the expected result of a sync for each entry, deletions last; write nothing.

        Results that depend on loading are not predicted: that an entry is rejected, or that its
        text, but not its bytes, is stored already.

        Raises:
            SourceUnavailable: The entries cannot be listed now.
        """
        moved_ids: set[str] = set()
        # Documents by URI, after predicted moves.
        known_by_uri: dict[str, KnownDocument | None] = {}
        added_by_hash: dict[str, KnownDocument] = {}

        def find_twins(entry: Entry) -> Iterator[KnownDocument]:
            if entry.version in added_by_hash:
                yield added_by_hash[entry.version]
            for twin in self.find_twins(entry):
                yield replace(twin, is_gone=twin.is_gone and twin.document_id not in moved_ids)

        for listed in chain.from_iterable(self.list_entries()):
            name, entry, known, _ = listed
            known = known_by_uri.get(entry.uri, known)
            decision = self.decide(listed._replace(known=known), find_twins(entry))
            result = decision.result
            if decision.action in {Action.FAIL, Action.DUPLICATE}:
                result = replace(result, document_id="")
            elif decision.is_move and decision.known:
                moved_ids.add(decision.known.document_id)
                known_by_uri[decision.known.uri] = known
            elif decision.needs_content and self.version_is_hash:
                added_by_hash[entry.version] = KnownDocument(f"of {name}")
            yield name, result
        for stale in self.find_stale():
            if str(stale.document_id) not in moved_ids:
                yield stale.name, ItemResult(Outcome.REMOVED, str(stale.document_id))

    def _documents_at(self, *uris: str) -> DocumentQuerySet:
        rows = Document.objects.select_related("collection")
        return rows.filter(collection=self._collection, source_uri__in=uris)

    def _store(self, file: SubmittedFile, attributes: Attributes, **options: bool) -> ItemResult:
        """Ingest the content of an entry and replace its last version.

        If another document has the same text, that is the result; the document of an entry that is
        gone becomes the document of this entry.

        Args:
            options: Of ``IngestOptions``.

        Raises:
            PkbError: As ``ingest_submission``.
        """
        known = self._documents_at(attributes.source_uri).first()

        def ingest(replacing: Document | None) -> ItemResult:
            how = IngestOptions(replacing=replacing, on_embedding=self._on_embedding, **options)
            submission = Submission(file, attributes, how)
            stored = ingest_submission(submission, collection=self._collection)
            if stored.collection != self._collection.qualified_name:
                # Rules chose another one.
                self._documents_at(attributes.source_uri).filter(content_sha256="").delete()
            return ItemResult.from_stored(stored)

        try:
            # A placeholder has no version to replace.
            return ingest(known if known and known.content_sha256 else None)
        except DuplicateDocument as exc:
            holder_id = exc.document_id
        rows = Document.objects.select_related("collection")
        holder = rows.filter(pk=holder_id).first()
        with transaction.atomic():
            self._drop_duplicate(attributes.source_uri, holder_id)
            is_gone = holder is not None and self.is_gone(holder)
            twin = KnownDocument(holder_id, is_gone=is_gone)
            decision = decide(Entry(attributes.source_uri, ""), None, twins=[twin])
            if decision.action == Action.DUPLICATE:
                return decision.result
            return replace(ingest(holder), outcome=decision.result.outcome)

    def mark_failed(self, placeholder: Document, reason: str, **columns: Any) -> None:
        """Mark the document with the placeholder's URI as failed; if there is none, save it.

        An old version stays.

        Args:
            columns: Other values to set. ``file_hash`` and ``settings_sha256`` name the bytes and
                settings that would fail again; without them, the failure may be temporary.
        """
        columns = {"file_hash": "", "settings_sha256": "", **columns}
        columns |= {"status": Document.Status.FAILED, "error": reason}
        documents = self._documents_at(placeholder.source_uri)
        with transaction.atomic():
            tell(WebhookEvent.DOCUMENT_FAILED, documents.exclude(status=Document.Status.FAILED))
            if not documents.update(**columns):
                for name, value in columns.items():
                    setattr(placeholder, name, value)
                Document.objects.bulk_create([placeholder], ignore_conflicts=True)
                tell(WebhookEvent.DOCUMENT_FAILED, [placeholder])

    def _drop_duplicate(self, uri: str, holder_id: str) -> None:
        """Delete the document of an entry whose content another document has."""
        self._documents_at(uri).exclude(pk=holder_id).delete()
