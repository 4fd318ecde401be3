"""What holds of indexes whatever they are given."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from corpus.catalogue import create_collection
from corpus.ingestion.normal_form import join_blocks
from corpus.loaders.blocks import Block
from corpus.models import NAME_PATTERN, Chunk, Collection, Document, Embedding
from tests.support.client import Api
from tests.support.documents import ingest_text_of
from tests.support.drawing import examples

# Without coverage: it would take half as long again, and what is drawn decides what is run.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

MODEL = "hashing-64"
drawn = settings(
    max_examples=examples(10),
    # What an example writes is rolled back; the fixtures are meant to be shared.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

names = st.from_regex(re.compile(NAME_PATTERN, re.ASCII))
words = st.sampled_from(
    ["stone", "river", "granary", "Dr.", "stop!", "end.", "第一句。", "naïve", "x" * 70, "🚀",
     "\n\n", "# Head\n\n"]
)  # fmt: skip
texts = (
    st.lists(words, min_size=12, max_size=150)
    .map(" ".join)
    .filter(lambda text: len(join_blocks([Block(text)])[0]) >= 40)
)


@pytest.fixture(autouse=True)
def without_models(settings: Any) -> None:
    """No property is about which model ranks."""
    settings.PKB_EMBEDDING_MODEL = MODEL
    settings.PKB_RERANKER_MODEL = "none"


@pytest.fixture
def notes() -> Collection:
    return create_collection("notes", embedding_model=MODEL)


@contextmanager
def taken_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Collection, Document, Chunk, Embedding))


@drawn
@given(name=st.text(max_size=120) | st.none() | st.integers() | st.lists(names, max_size=2))
def test_a_bad_name_is_400(api: Api, name: Any) -> None:
    assume(not (isinstance(name, str) and re.match(NAME_PATTERN, name)))
    with taken_back():
        before = counts()
        assert api.post("/create", {"index_name": name}).status_code == 400
        assert counts() == before


@drawn
@given(text=texts)
def test_chunks_stored_are_those_reported(api: Api, notes: Collection, text: str) -> None:
    with taken_back():
        stored = api.post("/ingest", {"text": text, "collection": "notes"}).json()
        ids = [str(key) for key in notes.chunks.order_by("ordinal").values_list("pk", flat=True)]
        assert stored["chunk_ids"] == ids
        assert stored["chunk_count"] == len(ids) == notes.embeddings.count()
        stats = api.get("/documents/stats", {"collection": "notes"}).json()
        assert (stats["total_documents"], stats["total_chunks"]) == (1, len(ids))


queries = st.lists(
    st.sampled_from(["stone", "river", "granary", "ferry", "?", "第一"]), min_size=1, max_size=9
).map(" ".join)
modes = st.sampled_from(["hybrid", "semantic", "lexical"])


@pytest.fixture
def shelves() -> dict[str, set[str]]:
    """Three indexes with the same texts but for a word; chunk ids by index."""
    shelves = {}
    for name in ("first", "second", "third"):
        ingest = ingest_text_of(create_collection(name, embedding_model=MODEL))
        stored = [
            ingest(f"Number {i}: the stone granary by the river belongs to {name}, as ever.")
            for i in range(8)
        ]
        shelves[name] = {key for each in stored for key in each.chunk_ids}
    return shelves


@drawn
@given(query=queries, mode=modes, name=st.sampled_from(["first", "second", "third"]))
def test_results_come_from_the_asked_index_only(
    api: Api, shelves: dict[str, set[str]], query: str, mode: str, name: str
) -> None:
    body = {"query": query, "mode": mode, "top_k": 50, "collection": name}
    found = {hit["chunk_id"] for hit in api.post("/search", body).json()["results"]}
    asked = api.post("/query", {"query": query, "index_name": name, "top_k": 100}).json()["results"]
    assert found | {hit["id"] for hit in asked} <= shelves[name]
    assert len(asked) == 8
    assert mode == "lexical" or len(found) == 8


@drawn
@given(query=queries, mode=modes, top_k=st.integers(1, 50), rerank=st.booleans())
def test_results_descend_and_never_exceed_top_k(
    api: Api,
    shelves: dict[str, set[str]],
    query: str,
    mode: str,
    top_k: int,
    rerank: bool,
) -> None:
    body = {"query": query, "mode": mode, "top_k": top_k, "collection": "first", "rerank": rerank}
    found = api.post("/search", body).json()["results"]
    asked = api.post("/query", {"query": query, "index_name": "first", "top_k": top_k}).json()[
        "results"
    ]
    for results in (found, asked):
        assert len(results) <= top_k
        assert all(a["score"] >= b["score"] for a, b in pairwise(results))
