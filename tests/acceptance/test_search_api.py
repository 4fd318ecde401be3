"""POST /search as scripts use it."""

from typing import Any

import pytest

from corpus.models import Document
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, long_text


@pytest.mark.bare_models
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_search_results_descend_and_are_true_spans(api: Api, mode: str) -> None:
    stored = api.ingest(
        long_text(6), metadata={"extension": ".md"}, source_uri="file:///a/notes.md"
    )
    asked = {"query": "What was mended at the orchard?", "mode": mode, "top_k": 4}
    body = api.post("/search", asked).json()
    assert 0 < body["total_results"] == len(body["results"]) <= 4
    scores = [result["score"] for result in body["results"]]
    assert scores == sorted(scores, reverse=True)
    text = Document.objects.get(pk=stored.document_id).content.text
    for result in body["results"]:
        assert result["content"] == text[result["start_char"] : result["end_char"]]
        assert result["document_name"] == "notes.md"
        assert result["metadata"] == {"extension": ".md"}
        assert 0 <= result["similarity_score"] <= 1
        if mode == "semantic":
            assert result["score"] == result["similarity_score"]


def test_a_threshold_holds_in_every_mode(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    api.ingest(BAKERY)
    every = api.search()
    least = (every[0]["similarity_score"] + every[-1]["similarity_score"]) / 2
    for mode in ("hybrid", "semantic", "lexical"):
        found = api.search(mode=mode, similarity_threshold=least)
        assert all(result["similarity_score"] >= least for result in found)


def test_a_question_in_natural_language_finds_words(api: Api) -> None:
    api.ingest(BAKERY)
    stored = api.ingest(LIGHTHOUSE)
    question = "Could you please tell me what the keeper's clockwork is for, if anything?"
    found = api.search(question, mode="lexical")
    assert found[0]["document_id"] == stored.document_id


@pytest.mark.parametrize("query", ["a & | ! <-> :* (b", "'; drop table x; --", "\\ ' \\' quote"])
def test_query_operators_are_words(api: Api, query: str) -> None:
    api.ingest(LIGHTHOUSE)
    api.search(query, mode="lexical")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": 5}, "query"),
        ({"query": "q" * 1_001}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 51}, "top_k"),
        ({"similarity_threshold": 1.1}, "similarity_threshold"),
        ({"mode": "magic"}, "mode"),
        ({"tags": "a"}, "tags"),
    ],
)
def test_a_bad_search_is_400_and_names_the_field(
    api: Api, body: dict[str, Any], field: str
) -> None:
    response = api.post("/search", {"query": "q", **body})
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field
