"""Page images of a PDF or an image, with a quote marked on them."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import PageNotFound
from corpus.ingestion.normal_form import boxes_of, find_runs, least_confidence
from corpus.ingestion.original_files import has_pages, read_original
from corpus.loaders.ocr import UNSURE_BELOW
from corpus.loaders.page_images import find_on_page
from corpus.models import Document
from corpus.postgres import one_snapshot
from web.forms import SpanForm
from web.views.document_pages import find_document, headings_of, read_outline


def _common(spans: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of spans that are in ``start:end``."""
    parts = [(max(first, start), min(last, end)) for first, last in spans]
    return [(first, last) for first, last in parts if first < last]


def _read(document: Document, spans: Sequence[tuple[int, int]]) -> str:
    row = Document.objects.filter(pk=document.pk)
    return "".join(row.slice_of_text(*span) for span in spans)


@endpoint(GET=Endpoint(cost=Cost.SEARCH))
@require_safe
def page(request: HttpRequest, document_id: UUID, number: int) -> HttpResponse:
    """Show a page of a PDF or an image, with the document's headings."""
    fields = SpanForm.read(request.GET)
    start, end = fields["start"] or 0, fields["end"] or 0
    # Drawing takes its time: what it needs is read before.
    with one_snapshot():
        row = find_document(document_id)
        if not has_pages(row):
            raise PageNotFound("Only PDFs and images have page images.")
        outline = read_outline(row)
        spans = outline.spans_of_page(number, char_count=row.char_count)
        marked = _common(spans, start, end)
        quote = _read(row, marked)
        before = _read(row, _common(spans, 0, marked[0][0])) if marked else ""
    by_ocr = [run for span in spans for run in find_runs(outline.scanned, *span)]
    layout = find_on_page(
        read_original(row),
        number,
        quote="" if by_ocr else quote,
        before=before,
        media_type=row.media_type,
    )
    if by_ocr:
        boxes = [box for span in marked for box in boxes_of(by_ocr, *span, width=layout.width)]
        layout = layout._replace(boxes=boxes)
    confidence = least_confidence(run for span in marked for run in find_runs(by_ocr, *span))
    others = [page for page in outline.pages_of(start, end) if page != number]
    sheet = {
        "number": number,
        "previous": number - 1,
        "next": number + 1 if number < layout.page_count else 0,
        "layout": layout,
        # The part of the quote that is on this page, and the other pages of it.
        "quote": quote,
        "other_pages": others if quote else [],
        # To take along to other pages.
        "span": urlencode({"start": start, "end": end}) if start < end else "",
        "is_unsure": confidence is not None and confidence < UNSURE_BELOW,
    }
    context = {"document": row, "sheet": sheet, "headings": headings_of(outline)}
    return render(request, "web/page.html", context)
