"""Preview the sync of a folder or source without writing anything."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice

from corpus.ingestion.decisions import Action, KnownDocument, decide
from corpus.ingestion.file_scan import find_files
from corpus.ingestion.file_sync import FileSync, SyncOptions
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.source_job import (
    find_unlisted_documents,
    list_entries,
    open_source,
    plan_entries,
)
from corpus.jobs.kinds.sync_job import ListedFile, find_deleted_files, inspect_file, known_documents
from corpus.models import Collection
from corpus.sources.source_settings import SourceSettings


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
        self._sync = FileSync(collection, options)
        self._moved_ids: set[str] = set()
        # Documents by URI, after predicted moves.
        self._known_by_uri: dict[str, KnownDocument | None] = {}
        self._new_by_hash: dict[str, KnownDocument] = {}

    def results(self) -> Iterator[tuple[str, ItemResult]]:
        """Yield each path with its result; deletions last."""
        options = self._options
        files = find_files(options.named, selection=options.selection, skipped=self.skipped)
        while batch := [inspect_file(each, options) for each in islice(files, options.batch_size)]:
            stored = known_documents(self._collection.pk, batch)
            for listed in batch:
                known = self._known_by_uri.get(listed.uri, stored.get(listed.uri))
                yield str(listed.path), self._predict(listed, known)
        for stale in find_deleted_files(options, collection_id=self._collection.pk):
            if str(stale.document_id) not in self._moved_ids:
                yield stale.name, ItemResult(Outcome.REMOVED, str(stale.document_id))

    def _predict(self, listed: ListedFile, known: KnownDocument | None) -> ItemResult:
        decision = decide(
            listed,
            known,
            fingerprint=self._sync.fingerprint,
            twins=self._twins(listed),
            force=self._options.force,
        )
        if decision.action in {Action.FAIL, Action.DUPLICATE}:
            return replace(decision.result, document_id="")
        if decision.action in {Action.MOVE, Action.MOVE_AND_REPLACE} and decision.known:
            self._moved_ids.add(decision.known.document_id)
            self._known_by_uri[decision.known.uri] = known
        elif decision.needs_content:
            self._new_by_hash[listed.version] = KnownDocument(f"of {listed.path}")
        return decision.result

    def _twins(self, listed: ListedFile) -> Iterator[KnownDocument]:
        if listed.version in self._new_by_hash:
            yield self._new_by_hash[listed.version]
        for twin in self._sync.find_twins(listed.path, listed.version):
            yield replace(twin, is_gone=twin.is_gone and twin.document_id not in self._moved_ids)


def preview_source(
    source: SourceSettings, collection: Collection, *, may_be_empty: bool
) -> Iterator[tuple[str, ItemResult]]:
    """Yield each entry of a source, then each document to delete, with its expected result.

    Raises:
        SourceUnavailable: The source cannot be listed, or is empty, but was not before.
    """
    with closing(open_source(source)) as opened:
        entries = list_entries(opened)
    for planned in plan_entries(source, collection, entries, may_be_empty=may_be_empty):
        result = planned.decision.result
        is_read = planned.decision.needs_content
        yield planned.name, ItemResult(result.outcome) if is_read else result
    for stale in find_unlisted_documents(source.name, entries.keys(), collection_id=collection.pk):
        yield stale.name, ItemResult(Outcome.REMOVED, str(stale.document_id))
