"""Which chunks BM25 scores: few, whichever words are asked for, and the best of them."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from corpus import lexical
from corpus.catalogue import create_collection
from corpus.filters import parse_filter
from corpus.lexical import K1, B, LexicalQuery, read_lexical_query
from corpus.models import Chunk, Collection, Document
from qa.search import hybrid
from qa.search.hybrid import HybridRetriever
from qa.types import Query
from tests.support.database import execute
from tests.support.documents import ingest_text_of

DOCUMENT_COUNT = 24
# Every second text has stone, every third river, every fourth granary, and all have harbour.
WORDS = {"stone": 2, "river": 3, "granary": 4, "harbour": 1}


@pytest.fixture
def rows(db: None) -> Collection:
    collection = create_collection("rows", embedding_model="hashing-64")
    ingest = ingest_text_of(collection)
    for number in range(DOCUMENT_COUNT):
        said = " ".join(word for word, every in WORDS.items() if number % every == 0)
        text = f"Text {number:02} of the collection speaks of {said}."
        half = "first" if number < DOCUMENT_COUNT / 2 else "second"
        ingest(text, title=f"{number:02}", metadata={"number": number}, tags=[half])
    return collection


def read(text: str, collection: Collection) -> LexicalQuery:
    query = read_lexical_query(text, collection_ids=[collection.pk], language=collection.language)
    assert query is not None
    return query


def titles(query: LexicalQuery, *, widely: bool = False) -> list[str]:
    found = Chunk.objects.matching(query, widely=widely)
    return sorted(found.values_list("document__title", flat=True))


def multiples(of: int) -> list[str]:
    return [f"{number:02}" for number in range(0, DOCUMENT_COUNT, of)]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (100, multiples(1)),
        (6, multiples(4)),
        # Of the pairs, river and granary are in the fewest, 2; stone and granary would be in 3.
        (4, multiples(12)),
        # All four are together in one text in twelve.
        (1, multiples(12)),
    ],
)
def test_words_that_are_rare_together_choose_where_each_is_frequent(
    rows: Collection, monkeypatch: pytest.MonkeyPatch, budget: int, expected: list[str]
) -> None:
    monkeypatch.setattr(lexical, "CANDIDATE_BUDGET", budget)
    query = read("stone river granary harbour", rows)
    assert titles(query) == expected
    assert query.is_narrowed == (budget < 6)


def test_a_frequent_word_alone_has_no_more_scored_than_the_bound(
    rows: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "CANDIDATE_BUDGET", 5)
    query = read("harbour", rows)
    assert titles(query) == multiples(1)
    monkeypatch.setattr("corpus.models.chunk.SCORED_CHUNKS", 7)
    assert len(titles(query)) == len(titles(query, widely=True)) == 7


def test_the_bounded_candidates_are_found_once(
    rows: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not again for each chunk, whatever the planner takes the tables for."""
    monkeypatch.setattr(lexical, "CANDIDATE_BUDGET", 1)
    query = read("stone river granary harbour", rows)
    plan = Chunk.objects.matching(query).explain()
    assert query.is_narrowed
    assert "InitPlan" in plan
    assert "Semi Join" not in plan


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_candidates_that_are_too_few_are_filled_up_with_others(
    rows: Collection, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    retriever = HybridRetriever(alpha=0.5, candidate_count=10)
    asked = Query("stone granary harbour", collection="rows", k=10)
    wide = retriever.retrieve(asked, limit=10, mode=mode).passages
    monkeypatch.setattr(lexical, "CANDIDATE_BUDGET", 3)
    narrow = retriever.retrieve(asked, limit=10, mode=mode).passages
    assert [passage.title for passage in narrow[:6]] == [passage.title for passage in wide[:6]]
    assert len(narrow) == len(wide) == 10


FIRST_HALF: list[dict[str, Any]] = [
    {"tags": ("first",)},
    {"filters": parse_filter({"type": "lt", "key": "number", "value": DOCUMENT_COUNT / 2})},
]


@pytest.mark.parametrize("given", FIRST_HALF, ids=["tag", "metadata"])
def test_what_a_filter_leaves_is_ranked_as_if_all_of_it_were_scored(
    rows: Collection, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    """Whether it is few or many, and few of its words rare or none."""
    query = Query("stone river granary", collection="rows", k=4, **given)
    every = read(query.text, rows)
    halves = Chunk.objects.ranked(every).filter(tags__name="first")
    expected = list(halves.values_list("document__title", flat=True)[:4])
    retriever = HybridRetriever(alpha=0.5, candidate_count=4)
    for budget, exact_scan_limit in [(100, 100), (8, 100), (2, 100), (2, 0)]:
        monkeypatch.setattr(lexical, "CANDIDATE_BUDGET", budget)
        monkeypatch.setattr(hybrid, "CANDIDATE_BUDGET", budget)
        monkeypatch.setattr("corpus.models.chunk.EXACT_SCAN_ROWS", exact_scan_limit)
        found = retriever.retrieve(query, limit=4, mode="lexical").passages
        assert [passage.title for passage in found] == expected, (budget, exact_scan_limit)


def test_what_a_filter_leaves_is_found_once(rows: Collection) -> None:
    """And what else is asked names it: such a filter on metadata reads every document."""
    query = Query("stone river", collection="rows", k=4, **FIRST_HALF[1])
    retriever = HybridRetriever(alpha=0.5, candidate_count=4)
    with CaptureQueriesContext(connection) as asked:
        found = retriever.retrieve(query, limit=4)
    assert len(found.passages) == 4
    assert sum("@?" in each["sql"] for each in asked) == 1


def test_of_fewer_chunks_more_words_are_asked_for(
    rows: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "CANDIDATE_BUDGET", 6)
    query = read("stone river granary harbour", rows)
    assert titles(query) == multiples(4)
    # Of a third: 2 with granary, 3 with river; with stone they would be 9.
    assert titles(query.among(1 / 3)) == sorted({*multiples(4), *multiples(3)})
    assert titles(query.among(1 / 24)) == multiples(1)


def test_the_order_is_that_of_all_chunks_with_the_words(rows: Collection) -> None:
    query = read("stone river granary", rows)
    narrow = read_narrow(query)
    best = list(Chunk.objects.matching(query).values_list("pk", "bm25")[:2])  # type: ignore[misc]
    assert list(Chunk.objects.matching(narrow).values_list("pk", "bm25")) == best  # type: ignore[misc]


def read_narrow(query: LexicalQuery) -> LexicalQuery:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "CANDIDATE_BUDGET", 2)
        return read("stone river granary", Collection.objects.get_named("rows"))


def test_pages_are_taken_to_be_in_memory_on_any_server() -> None:
    """Else the index of words is passed over for reading all chunks (docs/decisions/0013)."""
    costs = execute("""SELECT source, setting::float FROM pg_settings
                        WHERE name IN ('seq_page_cost', 'random_page_cost') ORDER BY name""")
    assert costs == [("client", 0.33), ("client", 0.3)]


def test_a_word_counts_as_often_as_it_stands_in_a_chunk(collection: Collection) -> None:
    """Up to what a tsvector keeps of it, as BM25 says."""
    document = Document.objects.create(collection=collection, title="Quarries")
    times = [1, 2, 3, 40, 254, 255]
    for ordinal, number in enumerate(times):
        text = f"{'quarry ' * number}and {ordinal} more"
        Chunk.objects.create(
            document=document, collection=collection, ordinal=ordinal, start_char=0,
            end_char=len(text), text=text, token_count=number + 3,
        )  # fmt: skip
    query = read("quarry o'clock", collection)
    found = Chunk.objects.with_bm25(query).order_by("ordinal").values_list("bm25", flat=True)  # type: ignore[misc]
    assert query.words == ("quarri",)
    for number, score in zip(times, found, strict=True):
        length = 1 - B + B * (number + 3) / query.mean_tokens
        expected = query.weights[0] * number * (K1 + 1) / (number + K1 * length)
        assert score == pytest.approx(expected, rel=1e-9)
