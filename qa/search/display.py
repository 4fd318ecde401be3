"""What is shown of documents: passages as whole paragraphs, items and rows; pages of quotes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from django.db import connection

from corpus.ingestion.normal_form import Outline, confidence_of
from corpus.loaders.ocr import OCR
from corpus.models import Document
from qa.segments import Kind, Segment, Span, split_segments
from qa.types import CLOSEST_COUNT, Answer, Citation, ClosePassage, PageRange, Passage

# Of a unit: some ten lines of a page. Of 160 questions to manuals and handbooks, 131 have a right
# passage in the answer or the first three units of 120 words, 136 of 140, 137 of 150.
UNIT_WORDS = 140
# More, where that brings in the header of a table that begins the unit.
HEADER_WORDS = 20
# Read before and behind a chunk that is shorter than a unit.
AROUND_CHARS = 1_500

# document_id, content_sha256, start_char, end_char
Place = tuple[str, str, int, int]

_SLICES = """
SELECT place.number, substr(d.raw_text, place.start_char + 1, place.end_char - place.start_char)
  FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::int[]) WITH ORDINALITY
       AS place (document_id, content_sha256, start_char, end_char, number)
  JOIN corpus_document d ON d.id = place.document_id AND d.content_sha256 = place.content_sha256
"""


def read_slices(places: Sequence[Place]) -> dict[int, str]:
    """Return the texts of spans of documents by their number; those that are gone are left out."""
    if not places:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_SLICES, list(map(list, zip(*places, strict=True))))
        return {number - 1: text for number, text in cursor.fetchall()}


def show_units(
    closest: Sequence[ClosePassage], *, cited: Sequence[Citation] = ()
) -> tuple[ClosePassage, ...]:
    """Return the first passages as whole units, at most ``CLOSEST_COUNT``, no place twice.

    Args:
        cited: Shown elsewhere with what stands around them: what points at the same is left out,
            and no unit grows into that.
    """
    closest = [close for close in closest if not any(_share(close, each) for each in cited)]
    texts = _read_around(closest)
    shown: list[ClosePassage] = []
    for at, close in enumerate(closest):
        text, offset = texts.get(at, (close.passage.text, close.passage.start_char))
        around = (close.start_char - offset, close.end_char - offset)
        chunk = (close.passage.start_char - offset, close.passage.end_char - offset)
        taken = [
            (each.context[0] - offset, each.context[1] - offset)
            for each in cited
            if each.passage.document_id == close.passage.document_id
        ]
        start, end = find_unit(text, around, chunk=chunk, taken=taken)
        unit = replace(close, unit_start=start + offset, unit_text=text[start:end])
        if not any(_overlap(unit, other) for other in shown):
            shown.append(unit)
        if len(shown) == CLOSEST_COUNT:
            break
    return tuple(shown)


def _read_around(closest: Sequence[ClosePassage]) -> Mapping[int, tuple[str, int]]:
    """Return the text around passages that are shorter than a unit, and where it begins."""
    short = [
        (at, close.passage)
        for at, close in enumerate(closest)
        if not close.passage.is_selected and len(close.passage.text.split()) < UNIT_WORDS
    ]
    places = [
        (
            passage.document_id,
            passage.content_sha256,
            max(0, passage.start_char - AROUND_CHARS),
            passage.end_char + AROUND_CHARS,
        )
        for _, passage in short
    ]
    found = read_slices(places)
    return {short[number][0]: (text, places[number][2]) for number, text in found.items()}


def find_unit(
    text: str,
    around: Span,
    *,
    chunk: Span | None = None,
    taken: Sequence[Span] = (),
    most_words: int = UNIT_WORDS,
) -> Span:
    """Return the span of whole segments around a part of a text, as long as there is room.

    It grows within its chunk first, by what follows and what stands before; it does not end in a
    heading or in what leads to something else, and begins with a table's header or behind its rows.
    A part that is longer stays whole.

    Args:
        taken: Spans that it does not grow into.
    """
    found = split_segments(text)
    touched = _touched(found, around)
    if not touched:
        return chunk or (0, len(text))
    first, last = touched[0], touched[-1]

    def has_room(start: int, end: int, *, words: int = most_words) -> bool:
        is_free = not any(_touched(found[start : end + 1], span) for span in taken)
        return is_free and len(text[found[start].start : found[end].end].split()) <= words

    inside = _touched(found, chunk) if chunk else []
    for least, most in ((inside[0], inside[-1]) if inside else (first, last), (0, len(found) - 1)):
        grows = True
        while grows:
            grows = False
            if last < most and has_room(first, last + 1):
                last, grows = last + 1, True
            if first > least and has_room(first - 1, last):
                first, grows = first - 1, True
    while last > touched[-1] and (found[last].leads or found[last].kind is Kind.HEADING):
        last -= 1
    if _is_inside_table(found, first):
        header = first
        while _is_inside_table(found, header):
            header -= 1
        if has_room(header, last, words=most_words + HEADER_WORDS):
            first = header
        while first < touched[0] and _is_inside_table(found, first):
            first += 1
    return found[first].start, found[last].end


def _is_inside_table(found: Sequence[Segment], at: int) -> bool:
    """Return whether a row of the same table stands before this one."""
    rows = {Kind.ROW, Kind.RULE}
    is_row = at > 0 and {found[at - 1].kind, found[at].kind} <= rows
    return is_row and not found[at].begins_block


def _share(close: ClosePassage, cited: Citation) -> bool:
    is_same = close.passage.document_id == cited.passage.document_id
    return is_same and close.start_char < cited.end_char and cited.start_char < close.end_char


def _touched(found: Sequence[Segment], span: Span) -> list[int]:
    return [at for at, each in enumerate(found) if each.end > span[0] and each.start < span[1]]


def _overlap(unit: ClosePassage, other: ClosePassage) -> bool:
    """Return whether one shows most of another, or says the same elsewhere."""
    if unit.passage.document_id != other.passage.document_id or unit.passage.is_selected:
        return unit.unit_text == other.unit_text
    shared = min(unit.unit_end, other.unit_end) - max(unit.unit_start, other.unit_start)
    return 2 * shared > min(len(unit.unit_text), len(other.unit_text))


Quoted = TypeVar("Quoted", Citation, ClosePassage)
# The id of a document, and the SHA-256 of its text.
Version = tuple[str, str]
# Of a version: where its pages begin, and what OCR read of it, packed.
PageStarts = list[list[int]] | None
Scan = str | None


def add_page_numbers(answer: Answer) -> Answer:
    """Return an answer with the places of all that it quotes; one statement for however much."""
    outlines = _read_outlines(answer.quoted)
    return replace(
        answer,
        citations=tuple(_place(each, outlines) for each in answer.citations),
        closest=tuple(_place(each, outlines) for each in answer.closest),
        disagreement=tuple(_place(each, outlines) for each in answer.disagreement),
    )


def add_quote_pages(quotes: Iterable[Quoted]) -> list[Quoted]:
    """Return quotes with their places; one statement for however many."""
    quotes = list(quotes)
    outlines = _read_outlines(quotes)
    return [_place(each, outlines) for each in quotes]


def find_place(
    start: int, end: int, *, page: int | None, page_starts: PageStarts, scan: Scan
) -> PageRange:
    """Return where characters ``start:end`` of a document stand.

    Args:
        page: That they stand on where its pages are not known any more.
    """
    pages = Outline.from_json({"pages": page_starts or []}).pages_of(start, end)
    first, last = (pages[0], pages[-1]) if pages else (page, page)
    return PageRange(first, last, confidence_of(scan, start, end))


def _place(quote: Quoted, outlines: Mapping[Version, tuple[PageStarts, Scan]]) -> Quoted:
    passage = quote.passage
    starts, scan = outlines.get(_version_of(passage), (None, None))
    place = find_place(
        quote.start_char, quote.end_char, page=passage.page, page_starts=starts, scan=scan
    )
    return replace(quote, printed=place)


def _read_outlines(
    quotes: Iterable[Citation | ClosePassage],
) -> dict[Version, tuple[PageStarts, Scan]]:
    """Read what is known of the versions that are quoted, as far as they are there still."""
    wanted = {_version_of(each.passage) for each in quotes if _is_printed(each)}
    if not wanted:
        return {}
    documents = Document.objects.filter(pk__in={key for key, _ in wanted})
    told = ("pk", "content_sha256", "outline__pages", "outline__scanned")
    rows: Iterable[tuple[Any, ...]] = documents.values_list(*told)
    return {(str(key), version): (starts, scan) for key, version, starts, scan in rows}


def _is_printed(quote: Citation | ClosePassage) -> bool:
    """Tell whether more is to be known of its place than the page its passage begins on."""
    passage = quote.passage
    has_pages = isinstance(quote, Citation) and passage.page is not None
    return not passage.is_selected and (has_pages or OCR in passage.metadata)


def _version_of(passage: Passage) -> Version:
    return passage.document_id, passage.content_sha256
