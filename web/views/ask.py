from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from corpus.models import Collection, Document, Tag
from web.forms import NearestForm, SearchForm, SpanForm
from web.views.documents import find_document, read_around
from web.views.search import nearest_passages


@ensure_csrf_cookie
@require_safe
def ask(request: HttpRequest) -> HttpResponse:
    """Where questions are asked; the answer itself comes from /chat and /ask-selected."""
    given = SearchForm.read(request.GET)
    shown = {
        "given": given,
        "collections": Collection.objects.counted(),
        "tags": Tag.objects.in_use(),
        "recent": Document.objects.listed().stored().order_by("-ingested_at")[:4],
    }
    return render(request, "web/ask.html", shown)


@require_safe
def nearest(request: HttpRequest) -> HttpResponse:
    """What comes nearest to a question that the documents do not answer."""
    results = nearest_passages(NearestForm.read(request.GET))
    return render(request, "web/parts/nearest.html", {"results": results})


@require_safe
def passage(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """A passage in its document, for the panel beside an answer."""
    given = SpanForm.read(request.GET)
    document = find_document(document_id)
    start, end = given["start"] or 0, given["end"] or 1
    shown = {
        "document": document,
        "reading": read_around(document, start=start, end=max(end, start + 1)),
        "is_stale": bool(given["sha"]) and given["sha"] != document.content_sha256,
    }
    return render(request, "web/parts/passage.html", shown)
