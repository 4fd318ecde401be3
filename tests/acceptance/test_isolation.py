"""Nothing of one collection shows in what another says."""

from typing import Any

import pytest

from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION

SECRET = "The vault of the harbour office opens with four seven one one, says Maren Holt."
SECRET_QUESTION = "Which number opens the vault of the harbour office?"


@pytest.fixture
def two(api: Api) -> dict[str, str]:
    """A document in each of two collections; the id of each."""
    ids = {}
    for name, text in (("ours", LIGHTHOUSE), ("theirs", SECRET)):
        api.post("/create", {"index_name": name})
        body = {
            "text": text, "collection": name, "tags": ["shared", name], "title": name,
            "metadata": {"kind": "note"},
        }  # fmt: skip
        ids[name] = api.post("/ingest", body).json()["document_id"]
    return ids


def search(api: Api, **body: Any) -> list[str]:
    found = api.search(SECRET_QUESTION, **{"top_k": 50, "collection": "ours", **body})
    return [hit["document_id"] for hit in found]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_results_stay_inside(api: Api, two: dict[str, str], mode: str) -> None:
    kind = {"type": "eq", "key": "kind", "value": "note"}
    assert set(search(api, mode=mode)) <= {two["ours"]}
    assert set(search(api, mode=mode, tags=["shared"])) <= {two["ours"]}
    assert set(search(api, mode=mode, filters=kind)) <= {two["ours"]}
    theirs = {"type": "eq", "key": "title", "value": "theirs"}
    assert search(api, mode=mode, filters=theirs) == []
    assert search(api, mode=mode, tags=["theirs"]) == []
    assert search(api, mode=mode, collection="theirs") == [two["theirs"]]


def test_citations_stay_inside(api: Api, two: dict[str, str]) -> None:
    def ask(question: str, collection: str) -> Any:
        return api.answer(question, collection=collection)

    own, foreign = ask(LIGHTHOUSE_QUESTION, "ours"), ask(SECRET_QUESTION, "ours")
    assert {citation["document_id"] for citation in own["citations"]} == {two["ours"]}
    assert "four seven one one" not in str(foreign)
    assert not any(citation["document_id"] == two["theirs"] for citation in foreign["citations"])
    there = ask(SECRET_QUESTION, "theirs")
    assert {citation["document_id"] for citation in there["citations"]} == {two["theirs"]}


def test_statistics_and_lists_stay_inside(api: Api, two: dict[str, str]) -> None:
    before = api.get("/documents/stats", {"collection": "ours"}).json()
    shown = api.get("/collections/ours").json()
    api.post("/ingest", {"text": BAKERY, "collection": "theirs"})
    assert api.get("/documents/stats", {"collection": "ours"}).json() == before
    assert api.get("/collections/ours").json() == shown
    listed = api.get("/documents", {"collection": "ours"}).json()["results"]
    assert [document["id"] for document in listed] == [two["ours"]]
    api.delete("/collections/theirs")
    assert api.get("/documents/stats", {"collection": "ours"}).json() == before
    assert search(api) == [two["ours"]]


def test_the_words_of_another_collection_weigh_nothing(api: Api, two: dict[str, str]) -> None:
    """How rare a word is, is counted in the collection that is asked."""
    body = {"query": "keeper", "mode": "lexical", "collection": "ours"}
    before = api.post("/search", body).json()["results"]
    for number in range(3):
        text = f"Keeper {number} of the keepers keeps what another keeper kept before him."
        api.post("/ingest", {"text": text, "collection": "theirs"})
    after = api.post("/search", body).json()["results"]
    assert [(hit["chunk_id"], hit["score"]) for hit in after] == [
        (hit["chunk_id"], hit["score"]) for hit in before
    ]


def test_the_same_text_is_in_both_or_in_one(api: Api, two: dict[str, str]) -> None:
    copy = api.post("/ingest", {"text": SECRET, "collection": "ours"})
    assert copy.status_code == 201
    api.delete(f"/documents/{two['theirs']}")
    assert copy.json()["document_id"] in search(api)
    assert search(api, collection="theirs") == []
