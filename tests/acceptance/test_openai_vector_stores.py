"""Collections as OpenAI's own client sees vector stores."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import BadRequestError, NotFoundError, OpenAI
from openai.types import VectorStore, VectorStoreSearchResponse

from corpus.endpoints import Cost
from corpus.models import Collection, Document
from pkb.http.endpoint_lookup import find_endpoint
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest

BREAD = "When does the bakery open?"


@pytest.fixture
def client(live_server: Any, ingest: Ingest) -> Iterator[OpenAI]:
    ingest(LIGHTHOUSE, title="Coast", metadata={"year": 1874, "tags": ["a"], "open": True})
    ingest(BAKERY, title="Bakery", metadata={"year": 1990})
    with OpenAI(base_url=f"{live_server.url}/v1", api_key="unused", max_retries=0) as opened:
        yield opened


def names(found: Any) -> list[str]:
    return [result.filename for result in found.data]


@pytest.mark.parametrize("key", ["default", "pkb/default"])
def test_a_search_finds_passages(client: OpenAI, key: str) -> None:
    found = client.vector_stores.search(key, query=LIGHTHOUSE_QUESTION, max_num_results=1)
    (best,) = found.data
    VectorStoreSearchResponse.model_validate(best.model_dump())
    assert best.filename == "Coast"
    assert 0 < best.score <= 1
    assert best.attributes == {"year": 1874, "open": True}
    told: dict[str, Any] = best.model_dump()
    text = Document.objects.get(pk=best.file_id).content.text
    assert text[told["start_char"] : told["end_char"]] == best.content[0].text


def test_a_filter_keeps_other_documents_out(client: OpenAI) -> None:
    found = client.vector_stores.search(
        "default", query=LIGHTHOUSE_QUESTION, filters={"type": "gt", "key": "year", "value": 1900}
    )
    assert set(names(found)) == {"Bakery"}
    either = client.vector_stores.search(
        "default",
        query=LIGHTHOUSE_QUESTION,
        filters={
            "type": "or",
            "filters": [
                {"type": "eq", "key": "open", "value": True},
                {"type": "in", "key": "year", "value": [1990, 1991]},
            ],
        },
    )
    assert set(names(either)) == {"Coast", "Bakery"}


def test_each_of_several_queries_has_its_best_passage_first(client: OpenAI) -> None:
    found = client.vector_stores.search("default", query=[LIGHTHOUSE_QUESTION, BREAD])
    assert names(found)[:2] == ["Coast", "Bakery"]
    ids = [result.model_dump()["chunk_id"] for result in found.data]
    assert len(ids) == len(set(ids))
    alone = client.vector_stores.search("default", query=BREAD).data[0]
    assert found.data[1].score == pytest.approx(alone.score)


def test_a_threshold_leaves_out_what_is_less_similar(client: OpenAI) -> None:
    scores = sorted(
        result.score for result in client.vector_stores.search("default", query=BREAD).data
    )
    assert scores[0] < scores[-1]
    kept = client.vector_stores.search(
        "default", query=BREAD, ranking_options={"score_threshold": scores[-1] - 1e-6}
    )
    assert names(kept) == ["Bakery"]


def test_without_a_ranker_nothing_is_reranked(
    client: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("it was reranked")

    monkeypatch.setattr("qa.context.rerank_passages", fail)
    found = client.vector_stores.search(
        "default", query=BREAD, ranking_options={"ranker": "none"}, rewrite_query=True
    )
    assert names(found)[0] == "Bakery"


def test_collections_are_vector_stores(client: OpenAI, collection: Collection) -> None:
    Document.objects.create(collection=collection, status=Document.Status.FAILED)
    stores = {store.id: store for store in client.vector_stores.list()}
    assert VectorStore.model_validate(stores["default"].model_dump()) == stores["default"]
    counts = stores["default"].file_counts
    assert (counts.completed, counts.failed, counts.in_progress, counts.total) == (2, 1, 0, 3)
    assert stores["default"].usage_bytes == len(LIGHTHOUSE.encode()) + len(BAKERY.encode())
    assert client.vector_stores.retrieve("pkb/default") == stores["default"]


def test_an_unknown_store_is_not_found(client: OpenAI) -> None:
    for act in (
        lambda: client.vector_stores.retrieve("vs_1"),
        lambda: client.vector_stores.search("vs_1", query="q"),
    ):
        with pytest.raises(NotFoundError) as caught:
            act()
        assert caught.value.code == "collection_not_found"


def test_a_wrong_filter_is_named(client: OpenAI) -> None:
    wrong: Any = {"type": "and", "filters": [{"type": "like", "key": "year", "value": 1}]}
    with pytest.raises(BadRequestError) as caught:
        client.vector_stores.search("default", query="q", filters=wrong)
    assert caught.value.param == "filters.filters.0.type"


@pytest.mark.parametrize(
    "fields",
    [
        {"query": []},
        {"query": ["q"] * 6},
        {"query": [" "]},
        {"query": 5},
        {"query": "x" * 1_001},
        {"max_num_results": 51},
        {"ranking_options": {"score_threshold": 2}},
    ],
    ids=["none", "many", "blank", "number", "long", "results", "threshold"],
)
def test_a_bad_search_is_refused(api: Api, collection: Collection, fields: dict[str, Any]) -> None:
    reply = api.post("/v1/vector_stores/default/search", {"query": "q", **fields})
    assert reply.status_code == 400
    assert reply.json()["error"]["param"].startswith(next(iter(fields)))


def test_a_search_of_a_store_takes_a_place_of_a_search() -> None:
    assert find_endpoint("POST", "/v1/vector_stores/pkb/default/search").cost == Cost.SEARCH
    assert find_endpoint("GET", "/v1/vector_stores/default").cost == Cost.LIGHT
