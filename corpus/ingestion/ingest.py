"""Ingest one document: load, normalize, hash, chunk, embed, store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from hashlib import sha256

from django.conf import settings
from django.db import transaction

from corpus.embedders import get_embedder
from corpus.errors import EmptyDocument, TextTooLong, TextTooShort
from corpus.ingestion.chunking import cut_chunks
from corpus.ingestion.normal_form import Outline, join_blocks
from corpus.ingestion.store import (
    Attributes,
    StoredDocument,
    Version,
    check_document_quota,
    reject_duplicate,
    reject_duplicate_uri,
    route_by_rules,
    store_document,
)
from corpus.ingestion.uploaded_files import Upload, saved_while_stored
from corpus.ingestion.vectors import encode_chunks, queue_completion
from corpus.loaders import LoaderLimits, load_file
from corpus.loaders.blocks import Block
from corpus.models import Collection, Document
from corpus.telemetry import Step, ingest_latency_ms, ingest_requests, measured, span

# Most characters for each stored one: normalization removes white space and joins letter parts.
# Longer texts are rejected before normalization.
MOST_SHRINKING = 4
# Scanned pages that OCR reads within a request: about two minutes (docs/decisions/0039).
AWAITED_SCANS = 40


def ingest_text(
    text: str, *, collection: Collection, attributes: Attributes, apply_routing: bool = False
) -> StoredDocument:
    """Ingest a text; replace the stored version of its ``source_uri``.

    Args:
        apply_routing: Rules choose the collection of a new document of the default collection.

    Raises:
        TextTooShort, TextTooLong: Its length after normalization is out of bounds.
        BinaryText: It is not a text.
        DuplicateDocument: The collection has this content already.
        NoRoomLeft: The collection's owner has reached a quota.
        BackendError: The embedder cannot count tokens; nothing was written. If it only fails to
            embed, the document is stored and a job adds the vectors.
    """
    with _traced(collection):
        # Before any work: the text may be as long as a request body.
        _check_length(text, 0, MOST_SHRINKING * settings.PKB_MAX_INPUT_CHARS)
        with span(Step.NORMALIZE):
            normal, outline = join_blocks([Block(text)])
        _check_length(normal, settings.PKB_MIN_INPUT_CHARS, settings.PKB_MAX_INPUT_CHARS)
        return _ingest(
            normal,
            outline,
            collection=collection,
            attributes=attributes,
            apply_routing=apply_routing,
        )


def ingest_file(
    content: bytes,
    *,
    filename: str,
    media_type: str = "",
    collection: Collection,
    attributes: Attributes,
    max_chars: int | None = None,
    keep: bool = False,
    apply_routing: bool = False,
    is_awaited: bool = False,
    replacing: Document | None = None,
    on_embedding: Callable[[], None] = lambda: None,
) -> StoredDocument:
    """Ingest a file; its own metadata fills the attributes that are not given.

    Args:
        max_chars: Maximum length of its text, by default ``PKB_MAX_FILE_CHARS``.
        keep: Store the bytes as an upload, as long as this version exists.
        apply_routing: As ``ingest_text``.
        is_awaited: A request waits: reject files with more than ``AWAITED_SCANS`` scanned pages.
        replacing: The document to replace, even with the same content.
        on_embedding: Called before the chunks are embedded.

    Raises:
        UnsupportedMediaType: No loader reads it.
        UnreadableFile: It is broken, encrypted or hostile.
        EmptyDocument: It contains no text.
        TooLarge: It has too many scanned pages for a request.
        TextTooLong, BinaryText, DuplicateDocument, NoRoomLeft, BackendError: As ``ingest_text``.
    """
    with _traced(collection):
        with span(Step.LOAD):
            loaded, found_type = load_file(
                content,
                filename=filename,
                media_type=media_type,
                limits=loader_limits(is_awaited=is_awaited),
            )
        with span(Step.NORMALIZE):
            normal, outline = join_blocks(loaded.blocks)
        # Texts have a minimum length, files do not.
        if not normal:
            raise EmptyDocument(f"{filename or 'The file'} holds no text.")
        _check_length(normal, 1, max_chars or settings.PKB_MAX_FILE_CHARS)
        if keep:
            attributes = replace(attributes, file_hash=sha256(content).hexdigest())
        return _ingest(
            normal,
            outline,
            collection=collection,
            attributes=attributes.filled_from(
                loaded, media_type=found_type, size_bytes=len(content)
            ),
            upload=Upload(content, filename) if keep else None,
            apply_routing=apply_routing,
            replacing=replacing,
            on_embedding=on_embedding,
        )


def reingest_document(document: Document) -> StoredDocument:
    """Chunk and embed a stored document again, by the current settings of its collection.

    Raises:
        BackendError: The embedder failed; the old chunks stay.
    """
    with _traced(document.collection):
        return _ingest(
            document.raw_text,
            Outline.from_json(document.outline),
            collection=document.collection,
            attributes=Attributes.of(document),
            replacing=document,
            by_rules=False,
        )


def move_to_collection(document: Document, collection: Collection) -> None:
    """Move a document to another collection; it keeps its id, and is chunked and embedded again.

    Raises:
        DuplicateDocument: The other collection has this content or URI already.
        NoRoomLeft: Its owner has reached a quota.
        BackendError: The embedder failed; the document stays where it is.
    """
    if document.collection_id == collection.pk:
        return
    if not document.content_sha256:
        reject_duplicate_uri(collection, document.source_uri)
        Document.objects.filter(pk=document.pk).update(collection=collection)
        return
    with _traced(collection):
        _ingest(
            document.raw_text,
            Outline.from_json(document.outline),
            collection=collection,
            attributes=Attributes.of(document),
            replacing=document,
            by_rules=False,
        )


@contextmanager
def _traced(collection: Collection) -> Iterator[None]:
    model = collection.embedding_model
    with (
        measured(ingest_requests, ingest_latency_ms, model=model, route="ingest"),
        span(Step.INGEST, collection=collection.name),
    ):
        yield


def loader_limits(*, is_awaited: bool = False) -> LoaderLimits:
    """Return the limits for a file from the settings; lower ones if a request waits."""
    limits = LoaderLimits(
        max_file_bytes=settings.PKB_MAX_FILE_BYTES,
        max_chars=settings.PKB_MAX_FILE_CHARS,
        ocr=settings.PKB_OCR != "off",
    )
    return (
        replace(limits, max_scanned_pages=AWAITED_SCANS, all_scans=True) if is_awaited else limits
    )


def _check_length(text: str, least: int, most: int) -> None:
    if len(text) < least:
        raise TextTooShort(f"{len(text)} characters; at least {least} are required.")
    if len(text) > most:
        raise TextTooLong(f"{len(text):,} characters; at most {most:,} are allowed.")


def _ingest(
    text: str,
    outline: Outline,
    *,
    collection: Collection,
    attributes: Attributes,
    upload: Upload | None = None,
    apply_routing: bool = False,
    replacing: Document | None = None,
    by_rules: bool = True,
    on_embedding: Callable[[], None] = lambda: None,
) -> StoredDocument:
    """Chunk and embed a text, then store it; a slow model holds no lock."""
    version = _cut(text, outline, attributes.title, collection=collection, replacing=replacing)
    if upload is not None:
        attributes = replace(attributes, kept_file=upload.expected_path)
    if apply_routing and (target := route_by_rules(version, collection, attributes)) is not None:
        collection = target
        version = _cut(text, outline, attributes.title, collection=collection)
    # Checked before embedding, and again in the transaction.
    check_document_quota(version, attributes, collection=collection, replacing=replacing)
    on_embedding()
    embedder = get_embedder(collection.embedding_model)
    encoded = encode_chunks(version.chunks, embedder=embedder)
    kept = saved_while_stored(upload) if upload else nullcontext("")
    with kept as kept_file, transaction.atomic():
        stored = store_document(
            version,
            collection=collection,
            attributes=replace(attributes, kept_file=kept_file or attributes.kept_file),
            encoded=encoded,
            replacing=replacing,
            by_rules=by_rules,
        )
        if not stored.is_complete:
            queue_completion(stored.document_id, collection=collection)
    return stored


def _cut(
    text: str,
    outline: Outline,
    title: str,
    *,
    collection: Collection,
    replacing: Document | None = None,
) -> Version:
    """Split a text into chunks; raise DuplicateDocument before that, if possible."""
    with span(Step.HASH):
        content_sha256 = sha256(text.encode()).hexdigest()
    reject_duplicate(collection, content_sha256, replacing=replacing)
    embedder = get_embedder(collection.embedding_model)
    with span(Step.CHUNKING):
        chunks = cut_chunks(
            text, title=title, outline=outline, collection=collection, embedder=embedder
        )
    return Version(text, outline, content_sha256, chunks)
