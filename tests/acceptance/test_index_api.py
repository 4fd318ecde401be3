"""POST /create and POST /query, as scripts use them."""

from pathlib import Path
from typing import Any

import pytest

from corpus.models import Collection
from corpus.vector_index import ensure_vector_index, vector_index_name
from qa.models import Session
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, long_text


def create(api: Api, name: Any = "notes", **settings: Any) -> Any:
    return api.post("/create", {"index_name": name, **settings})


def query(api: Api, text: str = LIGHTHOUSE_QUESTION, **body: Any) -> Any:
    return api.post("/query", {"query": text, "index_name": "notes", **body})


def ingest(api: Api, text: str, **body: Any) -> Any:
    return api.post("/ingest", {"text": text, "collection": "notes", **body}).json()


def test_create_makes_a_collection(api: Api) -> None:
    made = create(api)
    assert made.status_code == 201
    assert made.json() == {
        "index_name": "notes",
        "status": "created",
        "message": "Embedded by bge-small-en-v1.5+all-MiniLM-L6-v2, 768 dimensions.",
    }
    assert api.get("/collections/notes").json()["document_count"] == 0


def test_create_takes_a_model_and_chunk_settings(api: Api) -> None:
    settings = {"embedding_model": "all-MiniLM-L6-v2", "chunking": {"size": 90}}
    assert create(api, **settings, description="Notes of the coast.").status_code == 201
    shown = api.get("/collections/notes").json()
    assert shown["embedding_model"] == "all-MiniLM-L6-v2"
    assert shown["chunking"]["size"] == 90
    assert shown["description"] == "Notes of the coast."


def test_create_again_is_409_and_changes_nothing(api: Api) -> None:
    create(api)
    ingest(api, LIGHTHOUSE)
    before = api.get("/collections/notes").json()
    refused = create(api, chunking={"size": 90}, description="Another.")
    assert refused.status_code == 409
    assert "notes" in refused.json()["detail"]
    assert api.get("/collections/notes").json() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "index_name"),
        ({"index_name": "9lives"}, "index_name"),
        ({"index_name": "a\n"}, "index_name"),
        ({"index_name": "notes", "chunking": {"size": 1}}, "chunking.size"),
        ({"index_name": "notes", "embedding_model": 5}, "embedding_model"),
        ({"index_name": "notes", "embedding_model": "no-such-model"}, "embedding_model"),
        ({"index_name": "notes", "dimension": 7}, "dimension"),
    ],
    ids=["no name", "digit", "line break", "size", "number", "unknown model", "dimension"],
)
def test_a_bad_create_is_400_and_makes_nothing(api: Api, body: dict[str, Any], field: str) -> None:
    refused = api.post("/create", body)
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]
    assert not Collection.objects.filter(name="notes").exists()


@pytest.mark.bare_models
def test_query_names_where_each_passage_came_from(api: Api) -> None:
    create(api)
    ingest(api, BAKERY, title="Lindow")
    stored = ingest(api, LIGHTHOUSE, source_uri="note:bavoke", title="Bavoke")
    found = query(api).json()
    assert (found["query"], found["index_name"]) == (LIGHTHOUSE_QUESTION, "notes")
    best, other = found["results"]
    assert best["id"] == stored["chunk_ids"][0]
    assert (best["source_document"], other["source_document"]) == ("note:bavoke", "Lindow")
    assert "Orsolya Quill" in best["content"]
    assert 1 >= best["score"] > other["score"] >= 0


def test_query_takes_up_to_100(api: Api) -> None:
    create(api, chunking={"size": 16, "overlap_sentences": 0})
    stored = ingest(api, long_text(8))
    assert stored["chunk_count"] > 100
    scores = [hit["score"] for hit in query(api, "Which entry?", top_k=100).json()["results"]]
    assert len(scores) == 100
    assert scores == sorted(scores, reverse=True)
    assert len(query(api, "Which entry?").json()["results"]) == 5


def test_query_of_an_empty_index_finds_nothing(api: Api) -> None:
    create(api)
    assert query(api).json()["results"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "q" * 1_001}, "query"),
        ({"index_name": ""}, "index_name"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"top_k": "many"}, "top_k"),
    ],
    ids=["empty", "long", "no index", "0", "101", "word"],
)
def test_a_bad_query_is_400_and_names_the_field(api: Api, body: dict[str, Any], field: str) -> None:
    given = {"query": "q", "index_name": "notes", **body}
    refused = api.post("/query", given)
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]


def test_the_index_of_a_model_is_made_once(api: Api, django_assert_num_queries: Any) -> None:
    create(api)
    with django_assert_num_queries(1):
        ensure_vector_index(model="bge-small-en-v1.5+all-MiniLM-L6-v2", dimension=768)
    assert vector_index_name("a") != vector_index_name("b")


def test_a_missing_index_is_404_at_every_door(api: Api, tmp_path: Path, settings: Any) -> None:
    name = "nowhere"
    root = tmp_path
    (root / "note.txt").write_text("There is a stone granary by the river.")
    settings.PKB_INGEST_ROOTS = [root]
    text = "There is a stone granary by the river, and nobody has the key."
    replies = [
        api.post("/query", {"query": "q", "index_name": name}),
        api.post("/search", {"query": "q", "collection": name}),
        api.post("/ingest", {"text": text, "collection": name}),
        api.post("/ingest", {"content_path": str(root), "collection": name}),
        api.post("/encode_doc", {"document_path": "note.txt", "index_name": name}),
        api.post("/encode_batch", {"directory_path": str(root), "index_name": name}),
        api.get("/answer", {"q": "Where is it?", "collection": name}),
        api.post("/ask", {"question": "Where is it?", "collection": name}),
        api.post("/claims/verify", {"claim": "It is there.", "collection": name}),
        api.get("/documents", {"collection": name}),
        api.get("/documents/stats", {"collection": name}),
        api.get("/jobs", {"collection": name}),
        api.get(f"/collections/{name}"),
        api.patch(f"/collections/{name}", {"description": "x"}),
        api.delete(f"/collections/{name}"),
    ]
    assert [reply.status_code for reply in replies] == [404] * len(replies)
    assert not Session.objects.exists()
