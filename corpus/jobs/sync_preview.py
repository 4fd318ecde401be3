"""Preview a sync without writing anything."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from uuid import UUID

from corpus.ingestion.file_scan import find_files
from corpus.ingestion.file_sync import (
    SyncOptions,
    duplicate_message,
    find_same,
    has_moved,
    ingest_fingerprint,
    known_result,
)
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.sync_job import ListedFile, find_deleted_files, inspect_file, known_documents
from corpus.models import Collection, Document


class SyncPreview:
    """Predict the result of a sync for each file.

    Results that depend on loading are not predicted: that a file is rejected, or that its text,
    but not its bytes, is stored already.

    Attributes:
        skipped: Counts of skipped files by kind; complete after the last result.
    """

    def __init__(self, collection: Collection, options: SyncOptions) -> None:
        self.skipped: Counter[str] = Counter()
        self._collection = collection
        self._options = options
        self._fingerprint = ingest_fingerprint(collection, tags=options.tags)
        self._moved: set[UUID] = set()
        # Documents by URI, after predicted moves.
        self._documents_by_uri: dict[str, Document | None] = {}
        self._new_hashes: dict[str, str] = {}

    def results(self) -> Iterator[tuple[str, ItemResult]]:
        """Yield each path with its result; deletions last."""
        options = self._options
        files = find_files(options.named, selection=options.selection, skipped=self.skipped)
        while found := list(islice(files, options.batch_size)):
            batch = [inspect_file(each, options) for each in found]
            stored = known_documents(self._collection.pk, batch)
            for listed in batch:
                uri = listed.path.as_uri()
                known = self._documents_by_uri.get(uri, stored.get(uri))
                yield str(listed.path), self._predict(listed, known)
        for pk, path in find_deleted_files(options, collection_id=self._collection.pk):
            if pk not in self._moved:
                yield path, ItemResult(Outcome.REMOVED, str(pk))

    def _predict(self, listed: ListedFile, known: Document | None) -> ItemResult:
        if listed.failure:
            return listed.failure
        unchanged = known_result(listed.file_hash, known, self._fingerprint)
        if unchanged is not None and not self._options.force:
            return unchanged
        return self._settle(listed, known) or self._ingest(listed, known)

    def _settle(self, listed: ListedFile, known: Document | None) -> ItemResult | None:
        """Return the result of a file that need not be loaded, as ``sync_file`` does."""
        if self._options.force:
            return None
        same = find_same(listed.path, listed.file_hash, collection=self._collection)
        for document in same:
            if document.pk not in self._moved and has_moved(document, options=self._options):
                self._moved.add(document.pk)
                self._documents_by_uri[document.source_uri] = known
                is_settled = document.settings_sha256 == self._fingerprint
                outcome = Outcome.RENAMED if is_settled else Outcome.REPLACED
                return ItemResult(outcome, str(document.pk), document.chunk_count)
        first = self._new_hashes.get(listed.file_hash) or (str(same[0].pk) if same else "")
        if first:
            return ItemResult(Outcome.UNCHANGED, reason=duplicate_message(first))
        return None

    def _ingest(self, listed: ListedFile, known: Document | None) -> ItemResult:
        self._new_hashes[listed.file_hash] = f"of {listed.path}"
        if known is not None and known.content_sha256:
            return ItemResult(Outcome.REPLACED, str(known.pk), known.chunk_count)
        return ItemResult(Outcome.ADDED)
