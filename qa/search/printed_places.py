"""On which pages of their documents quotes stand, and how sure OCR is of them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from corpus.ingestion.normal_form import Outline
from corpus.ingestion.scanned_text import confidence_of
from corpus.loaders.ocr import OCR
from corpus.models import Document
from qa.types import Answer, Citation, ClosePassage, Passage, PrintedPlace

Quoted = TypeVar("Quoted", Citation, ClosePassage)
# The id of a document, and the SHA-256 of its text.
Version = tuple[str, str]
# Of a version: where its pages begin, and what OCR read of it, packed.
PageStarts = list[list[int]] | None
Scan = str | None


def place_answer(answer: Answer) -> Answer:
    """Return an answer with the places of all that it quotes; one statement for however much."""
    outlines = _read_outlines(answer.quoted)
    return replace(
        answer,
        citations=tuple(_place(each, outlines) for each in answer.citations),
        closest=tuple(_place(each, outlines) for each in answer.closest),
        disagreement=tuple(_place(each, outlines) for each in answer.disagreement),
    )


def place_quotes(quotes: Iterable[Quoted]) -> list[Quoted]:
    """Return quotes with their places; one statement for however many."""
    quotes = list(quotes)
    outlines = _read_outlines(quotes)
    return [_place(each, outlines) for each in quotes]


def find_place(
    start: int, end: int, *, page: int | None, page_starts: PageStarts, scan: Scan
) -> PrintedPlace:
    """Return where characters ``start:end`` of a document stand.

    Args:
        page: That they stand on where its pages are not known any more.
    """
    pages = Outline.from_json({"pages": page_starts or []}).pages_of(start, end)
    first, last = (pages[0], pages[-1]) if pages else (page, page)
    return PrintedPlace(first, last, confidence_of(scan, start, end))


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
