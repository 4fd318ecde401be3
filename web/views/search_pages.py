"""The page of search: passages with their terms marked, and how reranking moved them."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.models import Collection, Tag
from qa.context import build_context
from qa.search_passages import FoundPassages, search_passages
from qa.types import Passage, Query
from web.answer_presenter import PLAIN, read_media_types, render_block
from web.forms import MODES, SearchForm
from web.highlights import find_terms
from web.rendered_text import Mark

# Passages.
PAGE_SIZE = 10
# What /search gives at most; asked for at once, so that pages do not shift against each other.
MOST = 50


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A found passage.

    Attributes:
        rank: Its place in the list, from 1.
        rank_before: Its place before the reranker, if that moved it.
    """

    passage: Passage
    rank: int
    rank_before: int | None
    html: SafeString


@dataclass(frozen=True, slots=True)
class ResultPage:
    results: list[RankedPassage]
    total: int
    number: int
    ms: float

    @property
    def numbers(self) -> range:
        return range(1, -(-self.total // PAGE_SIZE) + 1)


def search_page(given: dict[str, Any]) -> ResultPage:
    """Run the search that a form describes, and return one page of what it found.

    Raises:
        CollectionNotFound, BackendError: As ``search_passages``.
    """
    number = given["page"] or 1
    found = _search(given, rerank=given["rerank"])
    before: dict[str, int] = {}
    if given["rerank"]:
        # Asked a second time, so that each result can say where it stood before.
        fused = _search(given, rerank=False)
        before = {passage.chunk_id: rank for rank, passage in enumerate(fused.results, 1)}
    first = (number - 1) * PAGE_SIZE
    media_types = read_media_types(passage.document_id for passage in found.results)
    results = [
        RankedPassage(
            passage,
            rank,
            before.get(passage.chunk_id) if before.get(passage.chunk_id) != rank else None,
            draw_hit(passage, given["q"], media_types.get(passage.document_id, PLAIN)),
        )
        for rank, passage in enumerate(found.results[first : first + PAGE_SIZE], first + 1)
    ]
    ms = found.embedding_time_ms + found.search_time_ms
    return ResultPage(results, found.total_results, number, ms)


def _search(given: dict[str, Any], *, rerank: bool) -> FoundPassages:
    query = Query(given["q"], collection=given["collection"], tags=given["tag"], k=MOST)
    return search_passages(
        query,
        mode=given["mode"] or "hybrid",
        threshold=given["threshold"] or 0.0,
        rerank=rerank,
        context=build_context(),
    )


def draw_hit(passage: Passage, query: str, media_type: str) -> SafeString:
    """Render a passage with the words of the query marked."""
    marks = [Mark(start, end, name="") for start, end in find_terms(passage.text, query)]
    return render_block(passage.text, media_type=media_type, marks=marks)


@endpoint(GET=Endpoint(cost=Cost.SEARCH))
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """The passages that a query finds, ten a page."""
    given = SearchForm.read(request.GET)
    shown = {
        "given": given,
        "modes": MODES,
        "collections": Collection.objects.with_counts().select_related("owner"),
        "tags": Tag.objects.names_in_use(),
        "found": search_page(given) if given["q"] else None,
    }
    return render(request, "web/search.html", shown)
