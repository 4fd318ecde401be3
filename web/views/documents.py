from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from corpus.deleting import delete_document
from corpus.ingestion import reingest_document
from corpus.tagging import change_tags
from qa.models import Citation
from web.forms import SpanForm, TagsForm
from web.reading import PAGE_CHARS, find_document, read_window


@require_safe
def document(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """A document's text, its chunks laid over it."""
    given = SpanForm.read(request.GET)
    found = find_document(document_id)
    start, end = given["start"], given["end"]
    marked = (start, end) if start is not None and end is not None and end > start else None
    first = (start or 0) if marked is None else marked[0] - marked[0] % PAGE_CHARS
    shown = {
        "document": found,
        "reading": read_window(found, start=first, size=PAGE_CHARS, marked=marked),
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
    citations = Citation.objects.filter(document=found)
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
