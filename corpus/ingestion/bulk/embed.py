"""Embed the chunks of a chunk file, and store them with their documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from corpus.embedders import Embedder, get_embedder
from corpus.errors import DuplicateDocument
from corpus.ingestion.bulk.chunk_files import DocumentEntry
from corpus.ingestion.document_writer import DocumentWriter, Version, reject_duplicate
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.vectors import encode
from corpus.models import Collection, Document

SOURCE = "pipeline"


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document to store, and the one that it replaces."""

    entry: DocumentEntry
    version: Version
    replacing: Document | None


def store_entries(
    entries: Iterable[DocumentEntry],
    *,
    collection: Collection,
    settings_sha256: str,
    batch_size: int,
) -> Iterator[tuple[DocumentEntry, ItemResult]]:
    """Store documents, each in one transaction; skip unchanged ones.

    After an interruption, call it again with the same entries.

    Args:
        settings_sha256: As in the chunk file.
        batch_size: Maximum number of texts in a batch; short documents share a batch.

    Raises:
        BackendError: The embedder failed; the documents yielded before are stored.
        CollectionNotFound: It was deleted in the meantime.
    """
    embedder = get_embedder(collection.embedding_model)
    rows = Document.objects.select_related("collection").filter(collection=collection)
    waiting: list[_Pending] = []
    for entry in entries:
        document = rows.filter(source_uri=entry.source_uri).first()
        hashes = (entry.content_sha256, entry.file_hash, settings_sha256)
        if (
            document is not None
            and document.status == Document.Status.COMPLETED
            and (document.content_sha256, document.file_hash, document.settings_sha256) == hashes
        ):
            yield entry, ItemResult(Outcome.UNCHANGED, str(document.pk), document.chunk_count)
            continue
        replacing = document if document is not None and document.content_sha256 else None
        try:
            reject_duplicate(collection, entry.content_sha256, replacing=replacing)
        except DuplicateDocument as exc:
            yield entry, _as_duplicate(entry, exc, collection)
            continue
        waiting.append(_Pending(entry, entry.to_version(), replacing))
        if sum(len(each.version.chunks) for each in waiting) >= batch_size:
            yield from _store(waiting, collection, settings_sha256, embedder, batch_size)
            waiting.clear()
    yield from _store(waiting, collection, settings_sha256, embedder, batch_size)


def _as_duplicate(
    entry: DocumentEntry, error: DuplicateDocument, collection: Collection
) -> ItemResult:
    """Return the result of an entry whose content another document has; drop its placeholder."""
    at_path = Document.objects.filter(collection=collection, source_uri=entry.source_uri)
    at_path.filter(content_sha256="").delete()
    return ItemResult(Outcome.UNCHANGED, error.document_id, reason=str(error))


def _store(
    waiting: Sequence[_Pending],
    collection: Collection,
    settings_sha256: str,
    embedder: Embedder,
    batch_size: int,
) -> Iterator[tuple[DocumentEntry, ItemResult]]:
    chunks = [chunk for pending in waiting for chunk in pending.version.chunks]
    inputs = {chunk.input_sha256: chunk.embedder_input for chunk in chunks}
    encoded = encode(inputs, embedder=embedder, batch_size=batch_size, attempts=1)
    uncounted = encoded.fresh
    for pending in waiting:
        # A text that two documents share is counted as newly embedded for the first of them.
        counted_here = uncounted & {chunk.input_sha256 for chunk in pending.version.chunks}
        uncounted -= counted_here
        entry = pending.entry
        writer = DocumentWriter(
            pending.version,
            entry.to_attributes(source=SOURCE, settings_sha256=settings_sha256),
            collection,
            replace(encoded, fresh=counted_here),
            replacing=pending.replacing,
        )
        try:
            yield entry, ItemResult.from_stored(writer.write())
        except DuplicateDocument as exc:
            yield entry, _as_duplicate(entry, exc, collection)
