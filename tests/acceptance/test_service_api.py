"""Health, readiness, schema, error bodies, resources."""

from typing import Any

import pytest
from django.conf import settings
from django.db import ProgrammingError, connection, transaction
from django.test import Client

from corpus.api.outages import translate_error
from corpus.embedders import get_embedder
from corpus.models import Collection, Document, Rule
from qa.readers import get_reader
from qa.search.rerankers import rerankers
from tests.support.client import Api
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, long_text


def test_health_counts_what_is_there(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    body = api.get("/health").json()
    assert set(body) == {
        "status",
        "version",
        "uptime",
        "database_connected",
        "model_loaded",
        "lm_connected",
        "documents_count",
        "chunks_count",
    }
    assert (body["documents_count"], body["chunks_count"]) == (1, stored.chunk_count)
    assert body["database_connected"] is True


def test_ready_waits_for_the_models(
    api: Api, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_embedder(collection.embedding_model).load()
    for model in (
        rerankers[settings.PKB_RERANKER_MODEL],
        get_reader(),
        rerankers[settings.PKB_JUDGE_MODEL],
    ):
        model.load()
    assert api.get("/ready").status_code == 200
    monkeypatch.setattr("pkb.health.are_models_loaded", lambda: False)
    response = api.get("/ready")
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert response.json()["error"] == "not_ready"


@pytest.mark.parametrize("path", ["/documents", "/ui/library"])
def test_a_database_that_is_not_migrated_is_told_with_what_to_do(api: Api, path: str) -> None:
    execute("DELETE FROM django_migrations WHERE app = 'corpus'")
    execute("ALTER TABLE corpus_document RENAME COLUMN title TO heading")
    response = api.get(path)
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "manage.py migrate" in response.content.decode()


def test_a_column_that_a_migrated_database_lacks_is_no_outage() -> None:
    with pytest.raises(ProgrammingError) as caught, transaction.atomic():
        connection.cursor().execute("SELECT nowhere FROM corpus_document")
    assert translate_error(caught.value) is None


def test_the_schema_names_every_path(api: Api) -> None:
    schema = api.get("/schema", headers={"Accept": "application/json"}).json()
    assert schema["openapi"].startswith("3.1")
    assert {"/ingest", "/answer", "/search", "/documents", "/health"} <= set(schema["paths"])
    errors = schema["paths"]["/ingest"]["post"]["responses"]
    assert {"400", "404", "408", "409", "413", "415", "422", "429", "5XX"} <= set(errors)
    for path in schema["paths"].values():
        for operation in path.values():
            assert operation["responses"]["5XX"]["content"]
            assert "default" not in operation["responses"]


def test_docs_load_nothing_from_elsewhere() -> None:
    page = Client().get("/docs")
    assert page.status_code == 200
    assert b"swagger" in page.content
    assert b"https://" not in page.content


def test_metrics_are_prometheus_text() -> None:
    response = Client().get("/metrics")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain")


def test_behind_tls_this_machine_collects_metrics_without(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    asked = [Client().get(path).status_code for path in ("/metrics", "/ready", "/status", "/tags")]
    assert asked[0] == 200
    assert asked[1] in {200, 503}
    assert asked[2:] == [301, 301]


@pytest.mark.parametrize(
    "accept", ["application/json", "*/*", "application/problem+json", "text/plain, */*;q=0.1"]
)
def test_what_is_not_there_is_a_problem(api: Api, accept: str) -> None:
    keys = ("6a50f511-3018-4a63-8095-956467a384db", "no-uuid")
    paths = ("/documents/{}", "/documents/{}/text", "/documents/{}/chunks", "/chunks/{}", "/none")
    for path in (path.format(key) for path in paths for key in keys):
        response = api.get(path, headers={"Accept": accept})
        assert response.status_code == 404, path
        assert response["Content-Type"] == "application/problem+json"
        body = response.json()
        assert body["status"] == body["status_code"] == 404


def test_no_question_is_in_the_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    api.get("/answer", {"q": "Who stole the crown?"})
    assert "/answer" in caplog.text
    assert "crown" not in caplog.text


def test_a_foreign_host_is_one_line_without_a_traceback(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    assert api.get("/health", headers={"Host": "evil.example"}).status_code == 400
    (line,) = (record for record in caplog.records if record.name.startswith("django.security"))
    assert "evil.example" in line.getMessage()
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "198.51.100.7")])
def test_log_has_client_ip_of_trusted_proxies_only(
    api: Api,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    proxies: int,
    address: str,
) -> None:
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_TRUSTED_PROXIES = proxies
    api.get("/health", headers={"X-Forwarded-For": "9.9.9.9, 198.51.100.7"})
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    assert {line["ip"] for line in lines if "request" in line} == {address}


def test_an_unexpected_error_is_a_500_with_a_request_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("qa.api.answer_views.answer_question", fail)
    client = Api()
    response = client.get("/answer", {"q": "Who is it?"})
    assert response.status_code == 500
    assert response["X-Request-ID"] in response.json()["detail"]
    assert b"secret detail" not in response.content


def test_a_collection_lives_and_dies(api: Api) -> None:
    made = api.post("/collections", {"name": "notes", "description": "Mine"})
    assert made.status_code == 201
    assert made.json()["dimension"] == 768
    assert made.json()["chunking"]["unit"] == "tokens"
    assert api.post("/collections", {"name": "notes"}).status_code == 409
    text = {"text": LIGHTHOUSE, "collection": "notes"}
    document_id = api.post("/ingest", text).json()["document_id"]
    changed = api.patch("/collections/notes", {"description": "Ours"}).json()
    assert (changed["description"], changed["document_count"]) == ("Ours", 1)
    renamed = api.patch("/collections/notes", {"name": "papers"}).json()
    assert (renamed["name"], renamed["description"], renamed["document_count"]) == (
        "papers", "Ours", 1,
    )  # fmt: skip
    assert api.get("/collections/notes").status_code == 404
    assert api.delete("/collections/papers?if_empty=true").status_code == 409
    assert api.delete("/collections/papers").status_code == 204
    assert api.get("/collections/papers").status_code == 404
    assert api.get(f"/documents/{document_id}").status_code == 404


def test_the_default_collection_stays(api: Api) -> None:
    assert api.delete("/collections/default").status_code == 409
    assert api.patch("/collections/default", {"name": "other"}).status_code == 409
    assert api.patch("/collections/default", {"name": "default"}).status_code == 200


def test_a_taken_name_is_given_to_no_other_collection(api: Api) -> None:
    for name in ("notes", "papers"):
        api.post("/collections", {"name": name})
    assert api.patch("/collections/notes", {"name": "papers"}).status_code == 409
    assert api.patch("/collections/notes", {"name": "no name"}).status_code == 400
    assert api.get("/collections/notes").status_code == 200


@pytest.mark.parametrize("path", ["/search", "/count"])
def test_metadata_that_no_document_has_are_named_where_nothing_is_found(
    api: Api, path: str
) -> None:
    api.ingest(LIGHTHOUSE, metadata={"author": "Ida"})

    def notice(key: str, value: str) -> str | None:
        same = {"type": "eq", "key": key, "value": value}
        filters = {"type": "and", "filters": [same, {**same, "key": "title", "type": "ne"}]}
        reply = api.post(path, {"query": "keeper", "filters": filters})
        assert reply.status_code == 200
        return reply.headers.get("X-Notice")

    assert notice("autör", "Ida") == (
        'No document has the metadata "aut\\u00f6r". Known keys: "author".'
    )
    assert notice("author", "Ida") is notice("author", "Otto") is None


def test_rules_follow_a_renamed_collection(api: Api) -> None:
    api.post("/collections", {"name": "notes"})
    api.post("/rules", {"name": "n", "words": ["basalt"], "collection": "notes"})
    api.patch("/collections/notes", {"name": "papers"})
    assert Rule.objects.get().collection == "papers"


@pytest.mark.parametrize("name", ["", "1a", "-a", "a b", "a/b", "a.b", "é", "a\n", "a" * 101, 5])
def test_a_bad_collection_name_is_400(api: Api, name: Any) -> None:
    assert api.post("/collections", {"name": name}).status_code == 400


def test_documents_are_walked_exactly_once(api: Api) -> None:
    made = {api.ingest(f"{LIGHTHOUSE} Number {n}.").document_id for n in range(5)}
    url, seen = "/documents?limit=2", []
    while url:
        page = api.get(url).json()
        assert len(page["results"]) <= 2
        seen += [document["id"] for document in page["results"]]
        url = page["next"]
    assert sorted(seen) == sorted(made)


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=201", "cursor=junk", "status=odd"])
def test_a_bad_page_is_400(api: Api, query: str) -> None:
    assert api.get(f"/documents?{query}").status_code == 400


def test_documents_are_filtered(api: Api) -> None:
    mine = api.ingest(LIGHTHOUSE, tags=("coast",), source="cli").document_id
    api.ingest(BAKERY, source="note")
    for query in ("tag=coast", "source=cli", "q=Bavoke", "tag=COAST&status=completed"):
        found = api.get(f"/documents?{query}").json()["results"]
        assert [document["id"] for document in found] == [mine], query


def test_a_document_shows_its_text_and_chunks(api: Api) -> None:
    stored = api.ingest(long_text(3), title="Subjects", metadata={"a": 1})
    shown = api.get(f"/documents/{stored.document_id}").json()
    assert (shown["title"], shown["status"], shown["metadata"]) == (
        "Subjects",
        "completed",
        {"a": 1},
    )
    text = api.get(f"/documents/{stored.document_id}/text").json()
    assert text["content_sha256"] == shown["content_sha256"]
    plain = api.get(f"/documents/{stored.document_id}/text", headers={"Accept": "text/plain"})
    assert plain.content.decode() == text["text"]
    chunks = api.get(f"/documents/{stored.document_id}/chunks?limit=200").json()["results"]
    assert [chunk["ordinal"] for chunk in chunks] == list(range(stored.chunk_count))
    one = api.get(f"/chunks/{chunks[0]['id']}").json()
    assert one["text"] == text["text"][one["start_char"] : one["end_char"]]
    assert one["heading_level"] is None


def test_deleting_removes_everything_at_once(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    path = f"/documents/{stored.document_id}"
    assert api.delete(path).status_code == 204
    for gone in (path, f"{path}/text", f"{path}/chunks", f"/chunks/{stored.chunk_ids[0]}"):
        assert api.get(gone).status_code == 404
    assert api.delete(path).status_code == 404
    assert api.ingest(LIGHTHOUSE).is_new


def test_stats_count_one_collection(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    assert api.get("/documents/stats").json() == {
        "total_documents": 1,
        "total_chunks": stored.chunk_count,
        "embedding_dimension": 768,
        "model_name": Collection.objects.get_named("default").embedding_model,
    }
    assert api.get("/documents/stats?collection=absent").status_code == 404


def test_a_deleted_tag_is_off_everything(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE, tags=("coast",))
    assert api.get("/tags/coast").json()["document_count"] == 1
    assert api.delete("/tags/coast").status_code == 204
    assert api.get("/tags/coast").status_code == 404
    assert Document.objects.get(pk=stored.document_id).tags.count() == 0
