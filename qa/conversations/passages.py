"""Passages that an answer points to and does not quote, read from their documents of today."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from corpus.ingestion.normal_form import Outline
from corpus.ingestion.scanned_text import confidence_of
from corpus.loaders.ocr import OCR
from corpus.models import Chunk, Document
from corpus.postgres.replica import read_evidence
from qa.models import Answer
from qa.search.hybrid import passage_of
from qa.types import Citation, ClosePassage, Passage

# A span as an answer keeps it: document_id, content_sha256, start_char, end_char, score.
Span = Mapping[str, Any]
# What of a span says where it is: all but the score.
Place = tuple[str, str, int, int]

_CHUNKS = """
SELECT place.number, around.id
  FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::int[]) WITH ORDINALITY
       AS place (document_id, content_sha256, start_char, end_char, number)
  JOIN corpus_document d ON d.id = place.document_id AND d.content_sha256 = place.content_sha256
 CROSS JOIN LATERAL (
       SELECT c.id FROM corpus_chunk c
        WHERE c.document_id = d.id
          AND c.start_char <= place.start_char AND c.end_char >= place.end_char
        ORDER BY c.ordinal LIMIT 1) around
"""


def read_passages(
    spans: Sequence[Span], found: Mapping[Place, Passage] | None = None
) -> list[ClosePassage]:
    """Return the passages that stored spans stand for, in their order.

    What was deleted, replaced or cut anew since is left out: nothing was claimed of it.

    Args:
        found: What ``find_passages`` found for these and others; looked up anew if not given.
    """
    found = find_passages(spans) if found is None else found
    return [
        ClosePassage(found[place], span["start_char"], span["end_char"], span["score"])
        for span in spans
        if (place := _place(span)) in found
    ]


def quoted_by_ocr(quoted: Citation | ClosePassage) -> float | None:
    """Return how sure OCR is of a quote, where it is least sure; None where it did not read it."""
    passage = quoted.passage
    if OCR not in passage.metadata or passage.is_selected:
        return None
    packed = _read_outline(passage, "scanned")
    return confidence_of(packed, quoted.start_char, quoted.end_char)


def pages_of(quoted: Citation | ClosePassage) -> list[int]:
    """Return the pages that a quote stands on, in order; none where its document has none."""
    passage = quoted.passage
    if passage.page is None:
        return []
    starts = _read_outline(passage, "pages")
    return _pages(starts, quoted.start_char, quoted.end_char) or [passage.page]


def pages_of_stored(citation: Any) -> list[int]:
    """Return the same of a citation as ``CitationQuerySet.compared`` reads it."""
    pages = _pages(citation.page_starts, citation.start_char, citation.end_char)
    return pages or [page for page in (citation.page,) if page is not None]


def _pages(starts: list[list[int]] | None, start: int, end: int) -> list[int]:
    return Outline.from_json({"pages": starts or []}).pages_of(start, end)


def _read_outline(passage: Passage, part: str) -> Any:
    same = Document.objects.filter(pk=passage.document_id, content_sha256=passage.content_sha256)
    return same.values_list(f"outline__{part}", flat=True).first()


def pointed_at(answers: Iterable[Answer]) -> list[Span]:
    """Return the spans that answers point to and do not quote."""
    return [span for answer in answers for span in (*answer.closest, *answer.disagreement)]


def find_passages(spans: Iterable[Span]) -> dict[Place, Passage]:
    """Return the passages around spans that still stand; two statements for however many."""
    places = list(dict.fromkeys(map(_place, spans)))
    if not places:
        return {}
    around, chunks = read_evidence(lambda: _read_around(places))
    return {
        places[number - 1]: passage_of(chunks[key], score=0.0, similarity=0.0)
        for number, key in around.items()
        if key in chunks
    }


def _read_around(places: list[Place]) -> tuple[dict[int, UUID], dict[UUID, Chunk]]:
    with connection.cursor() as cursor:
        cursor.execute(_CHUNKS, list(map(list, zip(*places, strict=True))))
        around: dict[int, UUID] = dict(cursor.fetchall())
    return around, Chunk.objects.with_document().in_bulk(set(around.values()))


def _place(span: Span) -> Place:
    return span["document_id"], span["content_sha256"], span["start_char"], span["end_char"]
