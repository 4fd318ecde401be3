"""The page of a document: a window of its text with the chunks in it, and what is done to it."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from corpus.catalogue import delete_document
from corpus.errors import DocumentNotFound
from corpus.ingestion import reingest_document
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.originals import has_pages
from corpus.loaders.labels import LINE_LEVEL
from corpus.models import Chunk, Document
from corpus.tags import change_tags
from qa import models
from web.forms import SpanForm, TagsForm
from web.marks import LabelledSpan, Stretch, lay_over

# Characters that a page shows at once: more than most documents have.
PAGE_CHARS = 30_000
# Characters around a passage that is shown beside an answer.
PANEL_CHARS = 6_000

# Fewer headings than these are no outline; of more, a list beside the text is no help.
LEAST_HEADINGS = 2
MAX_HEADINGS = 300


@dataclass(frozen=True, slots=True)
class Reading:
    """A window of a document; ``start`` and ``end`` are characters of the whole text."""

    document: Document
    start: int
    end: int
    stretches: list[Stretch]
    chunks: list[Chunk]
    marked: tuple[int, int] | None

    @property
    def is_partial(self) -> bool:
        return self.start > 0 or self.end < self.document.char_count

    @property
    def previous(self) -> int | None:
        return max(self.start - PAGE_CHARS, 0) if self.start else None

    @property
    def next(self) -> int | None:
        return self.end if self.end < self.document.char_count else None

    @property
    def place(self) -> Chunk | None:
        """The chunk that the marked passage begins in: it knows the headings."""
        if self.marked is None:
            return None
        start = self.marked[0]
        rows = Chunk.objects.filter(document=self.document).touching(start, start + 1)
        return rows.only("heading_path").first()

    @property
    def page_number(self) -> int | None:
        """The page that the marked passage begins on."""
        return read_outline(self.document).page_at(self.marked[0]) if self.marked else None


@dataclass(frozen=True, slots=True)
class HeadingLink:
    """A heading in the outline beside a text; ``depth`` is 0 for the outermost there are."""

    text: str
    depth: int
    start: int
    end: int
    page: int | None


def headings_of(outline: Outline) -> list[HeadingLink]:
    """Return the headings of a document that lead somewhere, as many as people read."""
    shown = [each for each in outline.headings if each.level < LINE_LEVEL][:MAX_HEADINGS]
    if len(shown) < LEAST_HEADINGS:
        return []
    top = min(each.level for each in shown)
    return [
        HeadingLink(each.text, each.level - top, each.start, each.end, outline.page_at(each.start))
        for each in shown
    ]


def read_outline(document: Document) -> Outline:
    """Read the headings and pages of a document, which lists leave out."""
    rows = Document.objects.filter(pk=document.pk).values_list("outline", flat=True)
    return Outline.from_json(rows.get())


def find_document(document_id: UUID) -> Document:
    """Return a document without its text.

    Raises:
        DocumentNotFound: There is none of that id.
    """
    document = Document.objects.listed().filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    return document


def read_window(
    document: Document, *, start: int, size: int, marked: tuple[int, int] | None = None
) -> Reading:
    """Read at most ``size`` characters from ``start`` on, and the chunks that touch them."""
    start, text = _slice(document, start, size)
    end = start + len(text)
    chunks = list(Chunk.objects.shown().filter(document=document).touching(start, end))
    spans = [LabelledSpan(chunk.start_char, chunk.end_char, chunk.ordinal) for chunk in chunks]
    stretches = lay_over(text, offset=start, spans=spans, marked=marked)
    return Reading(document, start, end, stretches, chunks, marked)


def read_around(document: Document, *, start: int, end: int) -> Reading:
    """Read a passage with what is before and after it, without chunks."""
    first = max(start - PANEL_CHARS // 2, 0)
    size = max(PANEL_CHARS, end - first + PANEL_CHARS // 2)
    first, text = _slice(document, first, min(size, PAGE_CHARS))
    stretches = lay_over(text, offset=first, spans=[], marked=(start, end))
    return Reading(document, first, first + len(text), stretches, [], (start, end))


def _slice(document: Document, start: int, size: int) -> tuple[int, str]:
    start = max(min(start, document.char_count - 1), 0)
    return start, slice_text(document, start, start + size)


def slice_text(document: Document, start: int, end: int) -> str:
    """Read characters ``start:end`` of a document."""
    return Document.objects.filter(pk=document.pk).slice_of_text(start, end)


@require_safe
def document(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """A document's text, its chunks laid over it."""
    given = SpanForm.read(request.GET)
    found = find_document(document_id)
    start, end = given["start"], given["end"]
    marked = (start, end) if start is not None and end is not None and end > start else None
    first = (start or 0) if marked is None else marked[0] - marked[0] % PAGE_CHARS
    outline = read_outline(found)
    page_number = outline.page_at(marked[0] if marked else first)
    shown = {
        "document": found,
        "reading": read_window(found, start=first, size=PAGE_CHARS, marked=marked),
        "headings": headings_of(outline),
        "span": urlencode({"start": marked[0], "end": marked[1]}) if marked else "",
        "page_number": page_number if has_pages(found) else None,
        "is_stale": bool(given["sha"]) and given["sha"] != found.content_sha256,
    }
    return render(request, "web/document.html", shown)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Say what a deletion takes along; delete when that is confirmed."""
    if request.method == "POST":
        delete_document(document_id)
        return redirect("web:library")
    found = find_document(document_id)
    citations = models.Citation.objects.filter(document=found)
    shown = {
        "document": found,
        "vector_count": found.chunks.filter(embeddings__isnull=False).count(),
        "quote_count": citations.count(),
        "answer_count": citations.values("answer").distinct().count(),
    }
    return render(request, "web/delete_document.html", shown)


@require_POST
def tag(request: HttpRequest, document_id: UUID) -> HttpResponse:
    change_tags(document_id, TagsForm.read(request.POST)["tags"])
    return redirect("web:document", document_id)


@require_POST
def reingest(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Cut and embed the document by its collection's settings of today."""
    reingest_document(find_document(document_id))
    return redirect("web:document", document_id)
