"""Prepare quotes for display: whole paragraphs, items and rows; page numbers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from django.db import connection

from corpus.ingestion.normal_form import Outline, confidence_of
from corpus.loaders.ocr import OCR
from corpus.models import Document
from qa.segments import Kind, Segment, Span, split_segments
from qa.types import CLOSEST_COUNT, Answer, Citation, ClosePassage, PageRange

# About ten lines of a page. Of 160 questions to manuals and handbooks, 131 have a right
# passage in the answer or the first three units of 120 words, 136 of 140, 137 of 150.
UNIT_WORDS = 140
# Additional words, to include the header of a table that begins the unit.
HEADER_WORDS = 20
# Read before and after a chunk that is shorter than a unit.
AROUND_CHARS = 1_500

# document_id, content_sha256, start_char, end_char
DocumentSpan = tuple[str, str, int, int]

_SLICES = """
SELECT span.number, substr(t.text, span.start_char + 1, span.end_char - span.start_char)
  FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::int[]) WITH ORDINALITY
       AS span (document_id, content_sha256, start_char, end_char, number)
  JOIN corpus_document d ON d.id = span.document_id AND d.content_sha256 = span.content_sha256
  JOIN corpus_documentcontent t ON t.document_id = d.id
"""


def read_slices(spans: Sequence[DocumentSpan]) -> dict[int, str]:
    """Return the texts of spans of documents by index; skip deleted versions."""
    if not spans:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_SLICES, list(map(list, zip(*spans, strict=True))))
        return {number - 1: text for number, text in cursor.fetchall()}


def show_units(
    closest: Sequence[ClosePassage], *, cited: Sequence[Citation] = ()
) -> tuple[ClosePassage, ...]:
    """Return the first passages as whole units, at most ``CLOSEST_COUNT``, without overlap.

    Args:
        cited: Citations, shown with their context: passages that overlap them are left out, and no
            unit extends into their context.
    """
    cited_in: defaultdict[str, list[Citation]] = defaultdict(list)
    for each in cited:
        cited_in[each.passage.document_id].append(each)
    closest = [
        close
        for close in closest
        if not any(
            close.start_char < each.end_char and each.start_char < close.end_char
            for each in cited_in[close.passage.document_id]
        )
    ]
    texts = _read_around(closest)
    shown: list[ClosePassage] = []
    for at, close in enumerate(closest):
        text, offset = texts.get(at, (close.passage.text, close.passage.start_char))
        around = (close.start_char - offset, close.end_char - offset)
        chunk = (close.passage.start_char - offset, close.passage.end_char - offset)
        taken = [
            (each.context[0] - offset, each.context[1] - offset)
            for each in cited_in[close.passage.document_id]
        ]
        start, end = find_unit(text, around, chunk=chunk, taken=taken)
        unit = replace(close, unit_start=start + offset, unit_text=text[start:end])
        if not any(_overlap(unit, other) for other in shown):
            shown.append(unit)
        if len(shown) == CLOSEST_COUNT:
            break
    return tuple(shown)


def _read_around(closest: Sequence[ClosePassage]) -> Mapping[int, tuple[str, int]]:
    """Return the text around passages shorter than a unit, and where it starts."""
    short = [
        (at, close.passage)
        for at, close in enumerate(closest)
        if not close.passage.is_selected and len(close.passage.text.split()) < UNIT_WORDS
    ]
    spans = [
        (
            passage.document_id,
            passage.content_sha256,
            max(0, passage.start_char - AROUND_CHARS),
            passage.end_char + AROUND_CHARS,
        )
        for _, passage in short
    ]
    slices = read_slices(spans)
    return {short[number][0]: (text, spans[number][2]) for number, text in slices.items()}


def find_unit(
    text: str,
    around: Span,
    *,
    chunk: Span | None = None,
    taken: Sequence[Span] = (),
    max_words: int = UNIT_WORDS,
) -> Span:
    """Return the span of whole segments around a part of a text, up to the word limit.

    It grows within its chunk first, forward and backward. It does not end in a heading or lead-in,
    and begins with a table's header or after its rows. A part beyond the limit stays whole.

    Args:
        taken: Spans that it must not overlap.
    """
    segments = split_segments(text)
    touched = _touched(segments, around)
    if not touched:
        return chunk or (0, len(text))
    first, last = touched[0], touched[-1]

    def has_room(start: int, end: int, *, words: int = max_words) -> bool:
        is_free = not any(_touched(segments[start : end + 1], span) for span in taken)
        return is_free and len(text[segments[start].start : segments[end].end].split()) <= words

    inside = _touched(segments, chunk) if chunk else []
    for lowest, highest in (
        (inside[0], inside[-1]) if inside else (first, last),
        (0, len(segments) - 1),
    ):
        grows = True
        while grows:
            grows = False
            if last < highest and has_room(first, last + 1):
                last, grows = last + 1, True
            if first > lowest and has_room(first - 1, last):
                first, grows = first - 1, True
    while last > touched[-1] and (segments[last].is_lead_in or segments[last].kind is Kind.HEADING):
        last -= 1
    if _is_inside_table(segments, first):
        header = first
        while _is_inside_table(segments, header):
            header -= 1
        if has_room(header, last, words=max_words + HEADER_WORDS):
            first = header
        while first < touched[0] and _is_inside_table(segments, first):
            first += 1
    return segments[first].start, segments[last].end


def _is_inside_table(segments: Sequence[Segment], at: int) -> bool:
    """Return whether a row of the same table is before this one."""
    rows = {Kind.ROW, Kind.RULE}
    is_row = at > 0 and {segments[at - 1].kind, segments[at].kind} <= rows
    return is_row and not segments[at].begins_block


def _touched(segments: Sequence[Segment], span: Span) -> list[int]:
    return [at for at, each in enumerate(segments) if each.end > span[0] and each.start < span[1]]


def _overlap(unit: ClosePassage, other: ClosePassage) -> bool:
    """Return whether two units mostly overlap, or have the same text."""
    if unit.passage.document_id != other.passage.document_id or unit.passage.is_selected:
        return unit.unit_text == other.unit_text
    shared = min(unit.unit_end, other.unit_end) - max(unit.unit_start, other.unit_start)
    return 2 * shared > min(len(unit.unit_text), len(other.unit_text))


Quoted = TypeVar("Quoted", Citation, ClosePassage)
# The id of a document, and the SHA-256 of its text.
Version = tuple[str, str]
# Of a version: where its pages begin, and its packed OCR runs.
PageStarts = list[list[int]] | None
Scan = str | None


def add_page_numbers(answer: Answer) -> Answer:
    """Return an answer with the page ranges of all its quotes, in one query."""
    outlines = _read_outlines(answer.quoted)
    return replace(
        answer,
        citations=tuple(_with_page_range(each, outlines) for each in answer.citations),
        closest=tuple(_with_page_range(each, outlines) for each in answer.closest),
        disagreement=tuple(_with_page_range(each, outlines) for each in answer.disagreement),
    )


def add_quote_pages(quotes: Iterable[Quoted]) -> list[Quoted]:
    """Return quotes with their page ranges, in one query."""
    quotes = list(quotes)
    outlines = _read_outlines(quotes)
    return [_with_page_range(each, outlines) for each in quotes]


def find_page_range(
    start: int, end: int, *, page: int | None, page_starts: PageStarts, scan: Scan
) -> PageRange:
    """Return the pages of characters ``start:end`` of a document.

    Args:
        page: The page to use if the version's pages are no longer known.
    """
    pages = Outline.from_json({"pages": page_starts or []}).pages_of(start, end)
    first, last = (pages[0], pages[-1]) if pages else (page, page)
    return PageRange(first, last, confidence_of(scan, start, end))


def _with_page_range(quote: Quoted, outlines: Mapping[Version, tuple[PageStarts, Scan]]) -> Quoted:
    passage = quote.passage
    version = passage.document_id, passage.content_sha256
    starts, scan = outlines.get(version, (None, None))
    page_range = find_page_range(
        quote.start_char, quote.end_char, page=passage.page, page_starts=starts, scan=scan
    )
    return replace(quote, page_range=page_range)


def _read_outlines(
    quotes: Iterable[Citation | ClosePassage],
) -> dict[Version, tuple[PageStarts, Scan]]:
    """Read pages and OCR confidences of the quoted versions that still exist."""
    wanted = {
        quote.passage.document_id
        for quote in quotes
        if not quote.passage.is_selected
        and (OCR in quote.passage.metadata or (isinstance(quote, Citation) and quote.passage.page))
    }
    if not wanted:
        return {}
    documents = Document.objects.filter(pk__in=wanted)
    columns = ("pk", "content_sha256", "content__outline__pages", "content__outline__scanned")
    rows: Iterable[tuple[Any, ...]] = documents.values_list(*columns)
    return {(str(key), version): (starts, scan) for key, version, starts, scan in rows}
