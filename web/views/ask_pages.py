from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from corpus.ingestion.normal_form import find_runs, least_confidence
from corpus.loaders.ocr import UNSURE_BELOW
from corpus.models import ALL_COLLECTIONS, Chunk, Document, Tag
from corpus.postgres import one_snapshot
from qa.example_questions import suggest_questions
from qa.models import Answer, Session
from web.answer_presenter import OCR_UNSURE
from web.forms import SearchForm, SpanForm
from web.readable_collections import choose_collection, readable_collections
from web.views.document_pages import PAGE_CHARS, find_document, read_outline, read_window

# Of each, on the first page.
EXAMPLES = 4
RECENT_CHATS = 5
RECENT_DOCUMENTS = 4
# Characters around a passage that is shown beside an answer.
PANEL_CHARS = 6_000


@ensure_csrf_cookie
@require_safe
def ask(request: HttpRequest) -> HttpResponse:
    """Show the page for questions; the answers come from /chat and /ask-selected."""
    context = composer(request)
    name, document = context["fields"]["collection"], context["only"]
    asked = context["collections"]
    if name != ALL_COLLECTIONS:
        asked = [each for each in asked if each.qualified_name == name]
    context |= {
        "recent": Document.objects.listed().stored().order_by("-ingested_at")[:RECENT_DOCUMENTS],
        "examples": [] if document else suggest_questions(asked, count=EXAMPLES),
        "chats": Session.objects.listed().order_by("-last_used_at", "pk")[:RECENT_CHATS],
    }
    return render(request, "web/ask.html", context)


def composer(request: HttpRequest, *, last: Answer | None = None) -> dict[str, Any]:
    """Return the context of the question form; ``only`` is the one document to ask, if any.

    Args:
        last: The last answer of the chat, which is continued where the URL says nothing else.
    """
    fields = SearchForm.read(request.GET)
    collections = readable_collections()
    document_id = fields["document"]
    if last and not request.GET.keys() & {"collection", "document", "tag"}:
        asked = last.collection
        fields["collection"] = asked.qualified_name if asked else ALL_COLLECTIONS
        fields["tag"], document_id = tuple(last.asked_tags), last.asked_document_id
    else:
        fields["collection"] = choose_collection(request, collections)
    only = Document.objects.listed().stored().filter(pk=document_id).first()
    if only is not None:
        fields["collection"] = only.collection.qualified_name
    return {
        "fields": fields,
        "only": only,
        "collections": collections,
        "count_of_all": sum(each.document_count for each in collections),  # type: ignore[attr-defined]
        "tags": Tag.objects.names_in_use(),
    }


@require_safe
@one_snapshot()
def passage(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Show a passage in its document, for the panel beside an answer."""
    fields = SpanForm.read(request.GET)
    document = find_document(document_id)
    start, end = fields["start"] or 0, fields["end"] or 1
    end = max(end, start + 1)
    # With what is before and after it.
    first = max(start - PANEL_CHARS // 2, 0)
    size = min(max(PANEL_CHARS, end - first + PANEL_CHARS // 2), PAGE_CHARS)
    outline = read_outline(document)
    # The chunk in which the passage begins has its headings.
    chunks = Chunk.objects.filter(document=document).overlapping(start, start + 1)
    sure = least_confidence(find_runs(outline.scanned, start, end))
    context = {
        "document": document,
        "start": start,
        "end": end,
        "reading": read_window(
            document, start=first, size=size, marked=(start, end), with_chunks=False
        ),
        "place": chunks.only("heading_path").first(),
        "page_number": outline.page_at(start),
        "warning": OCR_UNSURE if sure is not None and sure < UNSURE_BELOW else "",
        "is_stale": bool(fields["sha"]) and fields["sha"] != document.content_sha256,
    }
    return render(request, "web/parts/passage.html", context)
