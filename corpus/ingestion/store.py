"""Write a document with its chunks, vectors and tags: the corpus's one transaction."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone
from numpy.typing import NDArray

from corpus.errors import CollectionNotFound, DuplicateDocument
from corpus.ingestion.chunks import NewChunk
from corpus.ingestion.normal_form import Outline
from corpus.languages import character_ngrams
from corpus.models import Chunk, Collection, Document, Embedding
from corpus.tags import set_tags
from corpus.telemetry import Span as Traced
from corpus.telemetry import span


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is known of a document besides its text."""

    source_uri: str = ""
    source: str = ""
    title: str = ""
    media_type: str = "text/plain"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chapter: str = ""
    section: str = ""
    user_created_at: datetime | None = None
    file_path: str = ""
    file_hash: str = ""
    last_modified: datetime | None = None
    settings_sha256: str = ""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What an ingest left behind.

    Attributes:
        is_new: False where it replaced a version.
        embedded_count: Chunks that have a vector; a job of kind ``embed`` brings the rest.
        encoded_count: Texts that the model was given for it.
    """

    document_id: str
    chunk_ids: tuple[str, ...]
    tags: tuple[str, ...]
    collection: str
    is_new: bool
    embedded_count: int
    encoded_count: int = 0

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_ids)

    @property
    def is_complete(self) -> bool:
        return self.embedded_count == self.chunk_count


def refuse_duplicate(
    collection: Collection, content_sha256: str, *, replacing: Document | None = None
) -> None:
    """Raise DuplicateDocument if the collection holds this content, but in ``replacing``."""
    same = Document.objects.filter(collection=collection, content_sha256=content_sha256)
    others = same.exclude(pk=replacing.pk) if replacing else same
    found = others.values_list("pk", flat=True).first()
    if found is not None:
        raise DuplicateDocument(found)


@transaction.atomic
def store_document(
    *,
    collection: Collection,
    attributes: Attributes,
    text: str,
    outline: Outline,
    content_sha256: str,
    chunks: Sequence[NewChunk],
    vectors: Mapping[str, NDArray[np.float32]],
    model: str,
    replacing: Document | None = None,
) -> StoredDocument:
    """Store the document, in place of ``replacing`` or of the one with its ``source_uri``.

    A chunk that is unchanged keeps its id and its vectors. A chunk that ``vectors`` has
    nothing for is stored without; the document is then still ``processing``. It is as well where
    the collection was given another model than ``model`` meanwhile.

    Raises:
        DuplicateDocument: The collection holds this content in another document, or in the
            one it would replace.
        CollectionNotFound: It was deleted in the meantime.
    """
    model_now = Collection.objects.model_of(collection.pk)
    if model_now is None:
        raise CollectionNotFound(f"The collection {collection.name!r} was deleted.")
    _lock_names(collection, attributes.source_uri, content_sha256)
    existing = replacing or _existing(collection, attributes.source_uri)
    refuse_duplicate(collection, content_sha256, replacing=replacing)
    is_new = existing is None or not existing.content_sha256
    # Where the collection changed its model meanwhile, these vectors are not those it asks for.
    embedded_count = sum(chunk.input_sha256 in vectors for chunk in chunks) * (model == model_now)
    with span(Traced.WRITE_DOCUMENT):
        document = _write_document(
            existing, collection, attributes, text, outline, content_sha256, len(chunks)
        )
        if embedded_count < len(chunks):
            Document.objects.filter(pk=document.pk).update(status=Document.Status.PROCESSING)
    with span(Traced.WRITE_CHUNKS):
        stored = _write_chunks(document, chunks)
    with span(Traced.WRITE_EMBEDDINGS):
        _write_embeddings(stored, chunks, vectors, model)
    with span(Traced.WRITE_TAGS):
        set_tags(document, attributes.tags)
    return StoredDocument(
        document_id=str(document.pk),
        chunk_ids=tuple(str(chunk.pk) for chunk in stored),
        tags=attributes.tags,
        collection=collection.name,
        is_new=is_new,
        embedded_count=embedded_count,
    )


def _lock_names(collection: Collection, *names: str) -> None:
    """Make writers of one address or one content wait for each other, until the commit."""
    # In one order for all, so that two writers cannot wait for each other.
    keys = sorted(
        int.from_bytes(sha256(f"{collection.pk}:{name}".encode()).digest()[:8], signed=True)
        for name in names
        if name
    )
    with connection.cursor() as cursor:
        for key in keys:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


def _existing(collection: Collection, source_uri: str) -> Document | None:
    if not source_uri:
        return None
    rows = Document.objects.select_for_update(no_key=True).defer("raw_text")
    return rows.filter(collection=collection, source_uri=source_uri).first()


def _write_document(
    existing: Document | None,
    collection: Collection,
    attributes: Attributes,
    text: str,
    outline: Outline,
    content_sha256: str,
    chunk_count: int,
) -> Document:
    document = existing or Document(collection=collection)
    for name in (
        "source_uri", "source", "title", "media_type", "chapter", "section",
        "user_created_at", "file_path", "file_hash", "last_modified", "settings_sha256",
    ):  # fmt: skip
        setattr(document, name, getattr(attributes, name))
    document.metadata = dict(attributes.metadata)
    document.raw_text = text
    document.outline = outline.to_json()
    document.content_sha256 = content_sha256
    document.word_count = len(text.split())
    document.char_count = len(text)
    document.chunk_count = chunk_count
    document.status = Document.Status.COMPLETED
    document.error = ""
    document.ingested_at = timezone.now()
    document.save()
    return document


def _write_chunks(document: Document, chunks: Sequence[NewChunk]) -> list[Chunk]:
    """Return the stored chunks in order; rows of unchanged text are kept and moved."""
    kept: defaultdict[tuple[str, str], list[Chunk]] = defaultdict(list)
    # The last first, as they are taken from the end: repeated texts stay in their order.
    for row in Chunk.objects.filter(document=document).order_by("-ordinal"):
        kept[row.chunk_sha256, row.context].append(row)
    stored: list[Chunk] = []
    fresh: list[Chunk] = []
    moved: list[Chunk] = []
    for ordinal, chunk in enumerate(chunks):
        rows = kept[chunk.chunk_sha256, chunk.context]
        row = rows.pop() if rows else _new_chunk(document)
        (fresh if row._state.adding else moved).append(row)
        _fill_chunk(row, chunk, ordinal)
        stored.append(row)
    left = [row.pk for rows in kept.values() for row in rows]
    Chunk.objects.filter(pk__in=left).delete()
    Chunk.objects.bulk_update(moved, _PLACE, batch_size=500)
    Chunk.objects.bulk_create(fresh, batch_size=500)
    return stored


def _new_chunk(document: Document) -> Chunk:
    collection = document.collection
    return Chunk(document=document, collection=collection, language=collection.language)


# What may change of a chunk whose text and context do not.
_PLACE = ["ordinal", "start_char", "end_char", "heading_path", "heading_level", "page"]


def _fill_chunk(row: Chunk, chunk: NewChunk, ordinal: int) -> None:
    row.ordinal = ordinal
    row.start_char, row.end_char = chunk.span.start, chunk.span.end
    row.text, row.context = chunk.text, chunk.context
    row.ngrams = character_ngrams(f"{chunk.context} {chunk.text}")
    row.chunk_sha256, row.token_count = chunk.chunk_sha256, chunk.token_count
    row.heading_path = list(chunk.span.heading_path)
    row.heading_level, row.page = chunk.span.heading_level, chunk.span.page


def _write_embeddings(
    stored: Sequence[Chunk],
    chunks: Sequence[NewChunk],
    vectors: Mapping[str, NDArray[np.float32]],
    model: str,
) -> None:
    rows = [
        Embedding(
            chunk=row,
            collection_id=row.collection_id,
            model=model,
            dimension=len(vectors[chunk.input_sha256]),
            input_sha256=chunk.input_sha256,
            vector=vectors[chunk.input_sha256],
        )
        for row, chunk in zip(stored, chunks, strict=True)
        if chunk.input_sha256 in vectors
    ]
    # A kept chunk has its vector already: same input, same model.
    Embedding.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
