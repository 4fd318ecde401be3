"""Read the passages that stored answers show but do not quote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection

from corpus.models import Chunk
from corpus.postgres.snapshot import read_in_snapshot
from qa.models import Answer
from qa.search.display import DocumentSpan, add_quote_pages, find_page_range, read_slices
from qa.search.hybrid import passage_of
from qa.types import ClosePassage, PageRange

# A span as an answer keeps it: document_id, content_sha256, start_char, end_char, score, and unit,
# the start and end of what is shown around it (older answers have none).
Span = Mapping[str, Any]

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
    spans: Sequence[Span], found: Mapping[DocumentSpan, ClosePassage] | None = None
) -> list[ClosePassage]:
    """Return the passages of stored spans, in their order.

    Spans whose document was deleted, replaced or re-chunked are left out.

    Args:
        found: Result of ``find_passages`` for these and others; looked up if not given.
    """
    found = find_passages(spans) if found is None else found
    return [
        replace(found[place], score=span["score"])
        for span in spans
        if (place := _span_of(span)) in found
    ]


def page_range_of_citation(citation: Any) -> PageRange:
    """Return the pages of a citation that ``CitationQuerySet.compared`` has read.

    Older citations do not store them: compute them as long as the version exists.
    """
    if citation.last_page is not None:
        return PageRange(citation.page, citation.last_page, citation.ocr_confidence)
    return find_page_range(
        citation.start_char,
        citation.end_char,
        page=citation.page,
        page_starts=citation.page_starts,
        scan=citation.packed_scan,
    )


def uncited_spans(answers: Iterable[Answer]) -> list[Span]:
    """Return the spans that answers show but do not cite."""
    return [span for answer in answers for span in (*answer.closest, *answer.disagreement)]


def find_passages(spans: Iterable[Span]) -> dict[DocumentSpan, ClosePassage]:
    """Return the passages around spans whose version still exists, in four queries.

    Their scores are 0.
    """
    spans = list(spans)
    places = list(dict.fromkeys(map(_span_of, spans)))
    if not places:
        return {}
    units = {_span_of(span): unit for span in spans if (unit := span.get("unit"))}
    around, chunks, texts = read_in_snapshot(lambda: _read_around(places, units))
    found = {
        places[number - 1]: passage_of(chunks[key], score=0.0, similarity=0.0)
        for number, key in around.items()
        if key in chunks
    }
    close = add_quote_pages(
        ClosePassage(
            found[place],
            *place[2:],
            score=0.0,
            unit_start=units[place][0] if place in texts else 0,
            unit_text=texts.get(place, ""),
        )
        for place in found
    )
    return dict(zip(found, close, strict=True))


def _read_around(
    places: list[DocumentSpan], units: Mapping[DocumentSpan, Sequence[int]]
) -> tuple[dict[int, UUID], dict[UUID, Chunk], dict[DocumentSpan, str]]:
    """Return the chunks that contain the spans, and the texts of the units around them."""
    with connection.cursor() as cursor:
        cursor.execute(_CHUNKS, list(map(list, zip(*places, strict=True))))
        around: dict[int, UUID] = dict(cursor.fetchall())
    chunks = Chunk.objects.with_document().in_bulk(set(around.values()))
    wanted = list(units)
    slices = read_slices([(*place[:2], units[place][0], units[place][1]) for place in wanted])
    return around, chunks, {wanted[at]: text for at, text in slices.items()}


def _span_of(span: Span) -> DocumentSpan:
    return span["document_id"], span["content_sha256"], span["start_char"], span["end_char"]
