"""Compare the stored texts with all spans that refer to them.

This is done in Python: Postgres reads a text from its beginning for each span, which takes
quadratic time for a long text.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from corpus.ingestion.chunking import embedder_input
from corpus.ingestion.normal_form import Outline
from corpus.invariants.batches import Batch
from corpus.invariants.violations import Violation
from corpus.lexical import character_ngrams
from corpus.loaders.metadata import ranked_text
from corpus.models import Document
from corpus.postgres import execute

# Texts in memory at a time.
BATCH_CHARS = 4_000_000
BATCH_DOCUMENTS = 500

# Chunks with the input hashes of their vectors and token vectors: NULL without any; several if some
# are wrong.
_CHUNKS = """
SELECT c.document_id, c.id, c.start_char, c.end_char, c.text, c.context, c.ngrams, c.chunk_sha256,
       (SELECT string_agg(DISTINCT e.input_sha256, ' ') FROM corpus_embedding e
         WHERE e.chunk_id = c.id),
       (SELECT string_agg(DISTINCT t.input_sha256, ' ') FROM corpus_tokenvectors t
         WHERE t.chunk_id = c.id)
  FROM corpus_chunk c WHERE c.document_id = ANY(%s) ORDER BY c.document_id, c.ordinal
"""


@dataclass(frozen=True, slots=True)
class Quotes:
    """Spans of texts that rows other than chunks quote.

    Attributes:
        invariant: The invariant that a wrong span violates.
        query: Returns for documents ``%s`` the document, key, start, end and text of each span of
            the stored version.
    """

    invariant: str
    query: str


class _Chunk(NamedTuple):
    key: UUID
    start: int
    end: int
    text: str
    context: str
    ngrams: str
    chunk_sha256: str
    embedded: str | None
    ranked: str | None


class _Text(NamedTuple):
    key: UUID
    text: str
    title: str
    file_words: str
    content_sha256: str
    status: str
    word_count: int
    char_count: int
    outline: Mapping[str, Any] | None


def find_in_texts(batch: Batch, quotes: Sequence[Quotes]) -> Iterator[Violation]:
    """Yield violations in the texts of documents and their spans, within a snapshot."""
    documents = Document.objects.stored().filter(
        collection=batch.collection_id, pk__gt=batch.after, pk__lte=batch.up_to
    )
    # Without times: an unreadable time is another invariant.
    columns = ("pk", "text", *_Text._fields[2:-1], "content__outline")
    for keys in _batches(documents):
        rows = Document.objects.filter(pk__in=keys).order_by().with_text().values_list(*columns)
        texts = {row[0]: _Text(*row) for row in rows}
        chunks: defaultdict[UUID, list[_Chunk]] = defaultdict(list)
        for document, *chunk in execute(_CHUNKS, [keys]):
            chunks[document].append(_Chunk(*chunk))
        for text in texts.values():
            yield from _wrong_text(text)
            yield from _wrong_chunks(text, chunks[text.key])
        for each in quotes:
            for document, key, start, end, words in execute(each.query, [keys]):
                if texts[document].text[start:end] != words:
                    yield Violation(each.invariant, str(key))


def _batches(documents: "QuerySet[Document]") -> Iterator[list[UUID]]:
    batch: list[UUID] = []
    chars = 0
    for key, char_count in documents.order_by("pk").values_list("pk", "char_count"):
        if batch and (chars + char_count > BATCH_CHARS or len(batch) == BATCH_DOCUMENTS):
            yield batch
            batch, chars = [], 0
        batch.append(key)
        chars += char_count
    if batch:
        yield batch


def _wrong_text(document: _Text) -> Iterator[Violation]:
    text, key = document.text, str(document.key)
    if _hash(text) != document.content_sha256:
        yield Violation("content_sha256 of a document is wrong", key)
    if (len(text), len(text.split())) != (document.char_count, document.word_count):
        yield Violation("char_count or word_count of a document is wrong", key)
    outline = Outline.from_json(dict(document.outline or {}))
    parts = [(each.start, each.end) for each in outline.headings]
    parts += [(each.start, each.end) for each in outline.labels]
    parts += [(start, start) for start, _ in outline.pages]
    if any(not 0 <= start <= end <= len(text) for start, end in parts):
        yield Violation("the outline of a document leaves its text", key)


def _wrong_chunks(document: _Text, chunks: Sequence[_Chunk]) -> Iterator[Violation]:
    """Yield wrong spans, wrong order, wrong derived data, and text outside of chunks."""
    text = document.text
    covered = last = 0
    for chunk in chunks:
        if text[chunk.start : chunk.end] != chunk.text:
            yield Violation("a chunk is not the span it names", str(chunk.key))
        if chunk.start < last:
            yield Violation("a chunk stands before the one it comes after", str(chunk.key))
        elif text[covered : chunk.start].strip():
            yield Violation("text before a chunk is in no chunk", str(chunk.key))
        encoded = embedder_input(chunk.text, context=chunk.context)
        ranked = ranked_text(chunk.text, title=document.title, file_words=document.file_words)
        ngrams = "" if encoded.isascii() else character_ngrams(f"{chunk.context} {chunk.text}")
        if chunk.chunk_sha256 != _hash(chunk.text):
            yield Violation("chunk_sha256 of a chunk is wrong", str(chunk.key))
        if chunk.ngrams != ngrams:
            yield Violation("ngrams of a chunk are wrong", str(chunk.key))
        if chunk.embedded not in {None, _hash(encoded)}:
            yield Violation("a vector is of another text than its chunk's", str(chunk.key))
        if chunk.ranked not in {None, _hash(ranked)}:
            yield Violation("token vectors are of another text than their chunk's", str(chunk.key))
        covered, last = max(covered, chunk.end), chunk.start
    if document.status == Document.Status.COMPLETED and text[covered:].strip():
        yield Violation("the end of a document is in no chunk", str(document.key))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
