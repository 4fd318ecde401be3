"""The page of search: passages with their terms marked, and how reranking moved them."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.filters import Comparison
from corpus.models import ALL_COLLECTIONS, Collection, Document
from qa.context import build_context
from qa.grounding.support.words import FUNCTION_WORDS, stem
from qa.search_passages import FoundPassages, search_passages
from qa.types import Query
from web.answer_presenter import PLAIN, read_media_types, render_block
from web.forms import MODES
from web.readable_collections import remember_collection
from web.rendered_text import Mark
from web.views.ask_pages import composer

# Passages.
PAGE_SIZE = 10
# What /search gives at most; asked for at once, so that pages do not shift against each other.
MAX_PASSAGES = 50


def search_page(fields: dict[str, Any], only: Document | None) -> dict[str, Any]:
    """Run the search that a form describes, and return one page of what it found.

    Args:
        only: The one document to search, if any.

    A result has its ``rank`` in the list, from 1, and ``rank_before`` the reranker, if that moved
    it.

    Raises:
        CollectionNotFound, BackendError: As ``search_passages``.
    """
    number = fields["page"] or 1
    matches = _search(fields, only, rerank=fields["rerank"])
    before: dict[str, int] = {}
    if fields["rerank"]:
        # Asked a second time, so that each result can say where it stood before.
        fused = _search(fields, only, rerank=False)
        before = {passage.chunk_id: rank for rank, passage in enumerate(fused.results, 1)}
    first = (number - 1) * PAGE_SIZE
    is_of_all = fields["collection"] == ALL_COLLECTIONS
    names = Collection.objects.names() if is_of_all else {}
    media_types = read_media_types(passage.document_id for passage in matches.results)
    results = []
    for rank, passage in enumerate(matches.results[first : first + PAGE_SIZE], first + 1):
        marks = [Mark(*span, name="") for span in find_terms(passage.text, matches.searched)]
        media_type = media_types.get(passage.document_id, PLAIN)
        html = render_block(passage.text, media_type=media_type, marks=marks)
        rank_before = before.get(passage.chunk_id)
        results.append({
            "passage": passage,
            "collection": names.get(passage.collection_id, ""),
            "rank": rank,
            "rank_before": None if rank_before == rank else rank_before,
            "html": html,
        })  # fmt: skip
    return {
        "corrections": matches.corrections,
        "results": results,
        "total": matches.total_results,
        "number": number,
        "numbers": range(1, -(-matches.total_results // PAGE_SIZE) + 1),
        "ms": matches.embedding_time_ms + matches.search_time_ms,
    }


def _search(fields: dict[str, Any], only: Document | None, *, rerank: bool) -> FoundPassages:
    key = "content_sha256"
    query = Query(
        fields["q"],
        collection=fields["collection"],
        tags=fields["tag"],
        k=MAX_PASSAGES,
        filters=Comparison("eq", key, key, only.content_sha256) if only else None,
    )
    return search_passages(
        query,
        mode=fields["mode"] or "hybrid",
        threshold=fields["threshold"] or 0.0,
        rerank=rerank,
        context=build_context(),
    )


_WORD = re.compile(r"\w+")


def find_terms(text: str, query: str) -> list[tuple[int, int]]:
    """Return where words of the query stand in the text, in any form."""
    words = {word.lower() for word in _WORD.findall(query)}
    stems = set(map(stem, words - FUNCTION_WORDS))
    return [match.span() for match in _WORD.finditer(text) if stem(match[0].lower()) in stems]


@endpoint(GET=Endpoint(cost=Cost.SEARCH))
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show the passages that a query finds, ten a page."""
    context = composer(request)
    fields = context["fields"]
    is_asked = fields["q"] and context["collections"]
    context |= {"modes": MODES, "page": search_page(fields, context["only"]) if is_asked else None}
    reply = render(request, "web/search.html", context)
    if is_asked:
        name = fields["collection"]
        is_of_all = name == ALL_COLLECTIONS
        asked = None if is_of_all else Collection.objects.get_named(name).pk
        remember_collection(request, reply, asked)
    return reply
