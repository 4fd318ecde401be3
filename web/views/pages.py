"""A PDF or an image as its pages look, with a quote marked on them."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from corpus.errors import PageNotFound
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.originals import has_pages, read_original
from corpus.ingestion.scanned_text import boxes_of, find_runs, least_confidence
from corpus.loaders.ocr import UNSURE_BELOW
from corpus.loaders.pages import PageLayout, find_on_page
from corpus.models import Document
from web.forms import SpanForm
from web.views.documents import find_document, headings_of, read_outline, slice_text


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page with what is pointed out on it.

    Attributes:
        quote: The part of what was asked for that stands on this page; may be empty.
        span: What was asked for, as a query, to take along to other pages.
        ocr_confidence: Of the quote, where OCR is least sure; None where it was not read so.
    """

    number: int
    layout: PageLayout
    quote: str
    span: str
    ocr_confidence: float | None = None

    @property
    def is_unsure(self) -> bool:
        return self.ocr_confidence is not None and self.ocr_confidence < UNSURE_BELOW

    @property
    def previous(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        return self.number + 1 if self.number < self.layout.page_count else None


def read_sheet(document: Document, number: int, *, outline: Outline, start: int, end: int) -> Sheet:
    """Find characters ``start:end`` of a document on a page of it.

    Raises:
        OriginalNotFound, OriginalChanged, PageNotFound, UnreadableFile: It cannot be drawn.
    """
    first, last = outline.span_of_page(number, char_count=document.char_count)
    begin, stop = max(start, first), min(end, last)
    quote = slice_text(document, begin, stop) if begin < stop else ""
    before = slice_text(document, first, begin) if quote else ""
    by_ocr = find_runs(outline.scanned, first, last)
    layout = find_on_page(
        read_original(document),
        number,
        quote="" if by_ocr else quote,
        before=before,
        media_type=document.media_type,
    )
    if by_ocr:
        layout = layout._replace(boxes=boxes_of(by_ocr, begin, stop, width=layout.width))
    span = urlencode({"start": start, "end": end}) if start < end else ""
    sure = least_confidence(find_runs(by_ocr, begin, stop))
    return Sheet(number, layout, quote, span, sure)


@require_safe
def page(request: HttpRequest, document_id: UUID, number: int) -> HttpResponse:
    """A page of a PDF or an image, and beside it the document's headings."""
    given = SpanForm.read(request.GET)
    found = find_document(document_id)
    if not has_pages(found):
        raise PageNotFound("Pages are drawn of PDFs and images only.")
    outline = read_outline(found)
    sheet = read_sheet(
        found, number, outline=outline, start=given["start"] or 0, end=given["end"] or 0
    )
    shown = {"document": found, "sheet": sheet, "headings": headings_of(outline)}
    return render(request, "web/page.html", shown)
