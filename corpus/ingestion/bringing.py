"""Bring one file in: unchanged, renamed, replaced or new."""

from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from corpus.errors import BackendError, CollectionNotFound, DuplicateDocument, PkbError
from corpus.ingestion.fingerprints import settings_sha256
from corpus.ingestion.moving import find_same, has_moved, move_document
from corpus.ingestion.options import SyncOptions
from corpus.ingestion.paths import FileContent, FileResult, Outcome, read_file
from corpus.ingestion.pipeline import ingest_file
from corpus.ingestion.placeholders import drop_placeholder, mark_failed, mark_processing
from corpus.ingestion.planning import judge
from corpus.ingestion.storing import Attributes
from corpus.models import Collection, Document


def bring_file(
    path: Path,
    *,
    collection: Collection,
    options: SyncOptions,
    on_embedding: Callable[[], None] = lambda: None,
) -> FileResult:
    """Bring a file in under its absolute path as ``source_uri``.

    A file whose bytes and settings are those of last time is not even loaded.

    Raises:
        PkbError: It cannot be taken in; its document says so.
        OSError: It cannot be read; its document says so.
    """
    try:
        file = read_file(path, max_bytes=settings.PKB_MAX_FILE_BYTES)
    except (PkbError, OSError) as exc:
        _note_failure(path.absolute(), exc, collection, options)
        raise
    fingerprint = settings_sha256(collection, tags=options.tags)
    settled = None if options.force else _settle(file, fingerprint, collection, options)
    if settled is not None:
        return settled
    mark_processing(file, collection=collection, source=options.source)
    try:
        return _take_in(file, fingerprint, collection, options, on_embedding)
    except CollectionNotFound:
        raise
    except (PkbError, OSError) as exc:
        # A model that failed may be back the next time; the same bytes stay what they are.
        known = {} if isinstance(exc, BackendError) else {"file_hash": file.file_hash}
        _note_failure(file.path, exc, collection, options, settings_sha256=fingerprint, **known)
        raise


def reason_of(error: PkbError | OSError) -> str:
    """Say in one line why a file failed."""
    if isinstance(error, PkbError):
        return str(error) or error.title
    return error.strerror or str(error) or type(error).__name__


def _note_failure(
    path: Path,
    error: PkbError | OSError,
    collection: Collection,
    options: SyncOptions,
    **known: str,
) -> None:
    mark_failed(
        path,
        collection_id=collection.pk,
        source=options.source,
        reason=reason_of(error),
        **known,
    )


def _settle(
    file: FileContent, fingerprint: str, collection: Collection, options: SyncOptions
) -> FileResult | None:
    """Return what came of a file that need not be loaded, else None."""
    known = _at_path(file, collection)
    result = judge(file.path, file.file_hash, known, fingerprint)
    if result is not None and result.outcome == Outcome.UNCHANGED:
        return result
    same = find_same(file, collection=collection)
    roots = options.roots if options.mirror else []
    for document in same:
        if has_moved(document, roots=roots) and move_document(
            document, file, collection=collection
        ):
            is_settled = document.settings_sha256 == fingerprint
            moved = FileResult(file.path, Outcome.RENAMED, str(document.pk), document.chunk_count)
            return moved if is_settled else None
    return _as_duplicate(file, str(same[0].pk), collection, options) if same else None


def _at_path(file: FileContent, collection: Collection) -> Document | None:
    rows = Document.objects.select_related("collection").defer("raw_text", "outline")
    return rows.filter(collection=collection, source_uri=file.path.as_uri()).first()


def _take_in(
    file: FileContent,
    fingerprint: str,
    collection: Collection,
    options: SyncOptions,
    on_embedding: Callable[[], None],
) -> FileResult:
    known = _at_path(file, collection)
    attributes = Attributes(
        source=options.source,
        tags=options.tags,
        source_uri=file.path.as_uri(),
        file_path=str(file.path),
        file_hash=file.file_hash,
        last_modified=file.last_modified,
        settings_sha256=fingerprint,
    )
    try:
        stored = ingest_file(
            file.content,
            filename=file.path.name,
            collection=collection,
            attributes=attributes,
            replacing=known if known is not None and known.content_sha256 else None,
            on_embedding=on_embedding,
        )
    except DuplicateDocument as exc:
        return _as_duplicate(file, exc.document_id, collection, options)
    return FileResult(
        file.path,
        Outcome.ADDED if stored.is_new else Outcome.REPLACED,
        stored.document_id,
        stored.chunk_count,
        stored.encoded_count,
    )


def _as_duplicate(
    file: FileContent, document_id: str, collection: Collection, options: SyncOptions
) -> FileResult:
    """The content is stored under another path: this path has no document of its own."""
    drop_placeholder(file.path, collection=collection)
    outdated = Document.objects.filter(collection=collection, source_uri=file.path.as_uri())
    if options.mirror:
        outdated.delete()
    else:
        outdated.update(status=Document.Status.COMPLETED)
    reason = f"The same content is stored as document {document_id}."
    return FileResult(file.path, Outcome.UNCHANGED, document_id, reason=reason)
