"""The page of a document: a window of its text with its chunks, and actions on it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from corpus.catalogue import delete_document
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import DocumentNotFound
from corpus.ingestion.ingest import reingest_document
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.original_files import has_pages
from corpus.loaders.labels import LINE_LEVEL
from corpus.models import Chunk, Collection, Document, DocumentContent
from corpus.postgres import one_snapshot
from corpus.tags import change_tags
from qa import models
from web.answer_presenter import render_block
from web.forms import SpanForm, TagsForm
from web.rendered_text import Mark

# Characters that a page shows at once: more than most documents have.
PAGE_CHARS = 30_000
# A window begins and ends with a line, where one does within so many characters: a part of a line
# would be read as Markdown that is not meant.
LINE_CHARS = 2_000

# Fewer headings than these are no outline; of more, a list beside the text is no help.
MIN_HEADINGS = 2
MAX_HEADINGS = 300


@dataclass(frozen=True, slots=True)
class Reading:
    """A window of a document; ``start`` and ``end`` are characters of the whole text."""

    document: Document
    start: int
    end: int
    html: SafeString
    chunks: list[Chunk]

    @property
    def is_partial(self) -> bool:
        return self.start > 0 or self.end < self.document.char_count

    @property
    def previous(self) -> int | None:
        return max(self.start - PAGE_CHARS, 0) if self.start else None

    @property
    def next(self) -> int | None:
        return self.end if self.end < self.document.char_count else None


def headings_of(outline: Outline) -> list[dict[str, Any]]:
    """Return the headings of a document for a list; none if there are too few for an outline.

    Their ``depth`` is 0 for the outermost there are.
    """
    headings = [each for each in outline.headings if each.level < LINE_LEVEL][:MAX_HEADINGS]
    if len(headings) < MIN_HEADINGS:
        return []
    top = min(each.level for each in headings)
    return [
        {
            "text": each.text,
            "depth": each.level - top,
            "start": each.start,
            "end": each.end,
            "page": outline.page_at(each.start),
        }
        for each in headings
    ]


def read_outline(document: Document) -> Outline:
    """Read the headings and pages of a document, which lists leave out."""
    rows = DocumentContent.objects.filter(pk=document.pk).values_list("outline", flat=True)
    return Outline.from_json(rows.first() or {})


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
    document: Document,
    *,
    start: int,
    size: int,
    marked: tuple[int, int] | None = None,
    with_chunks: bool = True,
) -> Reading:
    """Read about ``size`` characters from ``start`` on, and the chunks that touch them."""
    start, text = _read_lines(document, start, size, held=marked[0] if marked else None)
    end = start + len(text)
    shown = Chunk.objects.shown().filter(document=document).overlapping(start, end)
    chunks = list(shown) if with_chunks else []
    # The colors of neighbors differ; text of two chunks is in the marks of both.
    marks = [
        Mark(
            chunk.start_char, chunk.end_char, tag="span",
            name="tint-odd" if chunk.ordinal % 2 else "tint-even", id=f"chunk-{chunk.ordinal}",
        )
        for chunk in chunks
    ]  # fmt: skip
    if marked:
        marks.append(Mark(*marked, id="passage"))
    html = render_block(text, media_type=document.media_type, offset=start, marks=marks)
    return Reading(document, start, end, html, chunks)


def _read_lines(
    document: Document, start: int, size: int, *, held: int | None = None
) -> tuple[int, str]:
    """Read whole lines, as far as they are short; return where they begin, and the text.

    They include the character ``held`` if it is after ``start``.
    """
    start = max(min(start, document.char_count - 1), 0)
    # With the character before it, by which a line is known to begin there.
    first = max(start - 1, 0)
    lead = start - first
    row = Document.objects.filter(pk=document.pk)
    text = row.slice_of_text(first, start + size + LINE_CHARS)
    latest = LINE_CHARS if held is None else min(LINE_CHARS, max(held - first, 0))
    begin = (text.find("\n", 0, latest) + 1 or lead) if start else 0
    is_last = len(text) <= lead + size
    end = len(text) if is_last else text.find("\n", lead + size - 1) + 1 or lead + size
    return first + begin, text[begin:end]


@require_safe
@one_snapshot()
def document(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Show a document's text with its chunks."""
    fields = SpanForm.read(request.GET)
    row = find_document(document_id)
    start, end = fields["start"], fields["end"]
    marked = (start, end) if start is not None and end is not None and end > start else None
    first = (start or 0) if marked is None else marked[0] - marked[0] % PAGE_CHARS
    outline = read_outline(row)
    size = min(max(PAGE_CHARS, marked[1] - first), 2 * PAGE_CHARS) if marked else PAGE_CHARS
    page_number = outline.page_at(marked[0] if marked else first)
    context = {
        "document": row,
        "reading": read_window(row, start=first, size=size, marked=marked),
        "headings": headings_of(outline),
        "span": urlencode({"start": marked[0], "end": marked[1]}) if marked else "",
        "page_number": page_number if has_pages(row) else None,
        "is_writable": Collection.objects.writable().filter(pk=row.collection_id).exists(),
        "is_stale": bool(fields["sha"]) and fields["sha"] != row.content_sha256,
    }
    return render(request, "web/document.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Show what is deleted with a document; delete it once confirmed."""
    if request.method == "POST":
        delete_document(document_id)
        return redirect("web:library")
    row = find_document(document_id)
    Collection.objects.get_writable(row.collection.qualified_name)
    citations = models.Citation.objects.filter(document=row)
    context = {
        "document": row,
        "vector_count": row.chunks.filter(embeddings__isnull=False).count(),
        "quote_count": citations.count(),
        "answer_count": citations.values("answer").distinct().count(),
    }
    return render(request, "web/delete_document.html", context)


@require_POST
def tag(request: HttpRequest, document_id: UUID) -> HttpResponse:
    change_tags(document_id, TagsForm.read(request.POST)["tags"])
    return redirect("web:document", document_id)


@endpoint(POST=Endpoint(cost=Cost.ENCODE))
@require_POST
def reingest(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Chunk and embed the document again with its collection's present settings."""
    reingest_document(find_document(document_id))
    return redirect("web:document", document_id)
