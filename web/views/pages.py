"""A PDF as its pages look, with a quote marked on them."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from corpus.errors import PageNotFound
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.originals import has_pages, read_original
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
    """

    number: int
    layout: PageLayout
    quote: str
    span: str

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
    layout = find_on_page(read_original(document), number, quote=quote, before=before)
    span = urlencode({"start": start, "end": end}) if start < end else ""
    return Sheet(number, layout, quote, span)


@require_safe
def page(request: HttpRequest, document_id: UUID, number: int) -> HttpResponse:
    """A page of a PDF, and beside it the document's headings."""
    given = SpanForm.read(request.GET)
    found = find_document(document_id)
    if not has_pages(found):
        raise PageNotFound("Pages are drawn of PDFs only.")
    outline = read_outline(found)
    sheet = read_sheet(
        found, number, outline=outline, start=given["start"] or 0, end=given["end"] or 0
    )
    shown = {"document": found, "sheet": sheet, "headings": headings_of(outline)}
    return render(request, "web/page.html", shown)
