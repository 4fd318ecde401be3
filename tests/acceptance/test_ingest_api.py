"""POST /ingest as scripts use it."""

from hashlib import sha256
from io import BytesIO
from typing import Any

import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from corpus.models import Document
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE


def post(api: Api, **body: Any) -> Any:
    return api.post("/ingest", {"text": LIGHTHOUSE, **body})


@pytest.mark.bare_models
def test_a_text_is_taken_in(api: Api) -> None:
    response = post(api, tags=[" Demo", "demo", "e\u0301"], source="cli", title="Light")
    assert response.status_code == 201
    body = response.json()
    assert set(body) == {"document_id", "chunk_ids", "chunk_count", "tags", "collection"}
    assert body["tags"] == ["demo", "\u00e9"]
    assert body["collection"] == "default"
    assert body["chunk_count"] == len(body["chunk_ids"]) >= 1


def test_the_same_content_is_409_and_names_the_document(api: Api) -> None:
    first = post(api).json()
    second = post(api, text=f"\r\n {LIGHTHOUSE}\r\n", tags=["other"])
    assert second.status_code == 409
    assert second["Content-Type"] == "application/problem+json"
    assert second.json()["document_id"] == first["document_id"]
    assert second.json()["error"] == "duplicate_document"


def test_a_known_source_uri_is_replaced_with_200(api: Api) -> None:
    first = post(api, source_uri="note:1", tags=["old"])
    second = post(api, text=BAKERY, source_uri="note:1", tags=["new"])
    assert (first.status_code, second.status_code) == (201, 200)
    document = Document.objects.get()
    assert first.json()["document_id"] == second.json()["document_id"] == str(document.pk)
    assert (document.content.text, document.tags.get().name) == (BAKERY, "new")
    assert not document.chunks.filter(text__contains="lighthouse").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": 5},
        {"text": None},
        {"tags": "demo"},
        {"tags": [{"a": 1}]},
        {"tags": ["t" * 65]},
        {"source": {"a": 1}},
        {"metadata": [1]},
        {"metadata": {"a": "\x00"}},
        {"created_at": 5},
        {"created_at": "2025-01-01T00:00:00"},
        {"created_at": "yesterday"},
        {"collection": "1 bad/name"},
        {"source_uri": ["a"]},
    ],
)
def test_a_wrong_type_is_400(api: Api, wrong: dict[str, Any]) -> None:
    response = post(api, **wrong)
    assert response.status_code == 400
    assert response.json()["status_code"] == 400
    assert not Document.objects.exists()


@pytest.mark.parametrize("body", [b"{nope", b"", b"[1]", b"null", b'"text"', b'{"text": "\xff"}'])
def test_a_bad_body_is_400(api: Api, body: bytes) -> None:
    response = api.post("/ingest", body, content_type="application/json")
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_json_nested_too_deeply_is_400(api: Api) -> None:
    body = b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert api.post("/ingest", body, content_type="application/json").status_code == 400


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("short", "text_too_short"),
        ("   " + "\n" * 50, "text_too_short"),
        ("x" * 200_001, "text_too_long"),
        ("A text that is long enough but holds a NUL\x00 in it.", "binary_text"),
    ],
)
def test_content_that_cannot_be_taken_is_422(api: Api, text: str, code: str) -> None:
    response = post(api, text=text)
    assert response.status_code == 422
    assert response.json()["error"] == code
    assert not Document.objects.exists()


def test_an_unknown_request_type_is_415(api: Api) -> None:
    assert api.post("/ingest", b"<a/>", content_type="application/x-unknown").status_code == 415


def upload(api: Api, content: bytes, name: str, media_type: str, **fields: Any) -> Any:
    file = SimpleUploadedFile(name, content, content_type=media_type)
    return api.post("/ingest", {"file": file, **fields}, format="multipart")


@pytest.mark.parametrize(
    ("name", "media_type", "content"),
    [
        ("note.txt", "text/plain", b"A short note."),
        ("note.md", "text/markdown", b"# Head\n\nA short note.\n"),
        ("note.html", "text/html", b"<html><body><h1>Head</h1><p>A short note.</p></body></html>"),
    ],
)
def test_a_file_is_taken_in(api: Api, name: str, media_type: str, content: bytes) -> None:
    response = upload(api, content, name, media_type, tags=["a", "b"], metadata='{"k": 1}')
    assert response.status_code == 201, response.content
    assert response.json()["tags"] == ["a", "b"]
    document = Document.objects.get()
    assert "A short note." in document.content.text
    assert document.media_type == media_type
    assert document.metadata["k"] == 1


@pytest.mark.parametrize(
    ("name", "media_type", "content", "status"),
    [
        ("blob.xyzzy", "application/x-unknown-thing", b"some bytes, enough of them. " * 3, 415),
        ("note.txt", "text/plain", bytes(range(256)) * 4, 422),
        ("note.txt", "text/plain", b"", 422),
        ("paper.pdf", "application/pdf", b"%PDF-1.7\nthis is no pdf at all" * 5, 422),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    api: Api, name: str, media_type: str, content: bytes, status: int
) -> None:
    assert upload(api, content, name, media_type).status_code == status
    assert not Document.objects.exists()


def test_tags_of_a_form_may_be_separated_by_commas(api: Api) -> None:
    made = upload(api, b"# Tides\n\nHigh at noon.", "a.md", "text/markdown", tags=["a, b", "c"])
    assert made.json()["tags"] == ["a", "b", "c"]


def test_an_upload_without_a_file_is_400(api: Api) -> None:
    response = api.post("/ingest", {"other": BytesIO(b"x")}, format="multipart")
    assert response.status_code == 400


def test_an_idempotency_key_repeats_the_answer(api: Api) -> None:
    def send(text: str) -> Any:
        return api.post("/ingest", {"text": text}, headers={"Idempotency-Key": "k1"})

    first, again, other = send(LIGHTHOUSE), send(LIGHTHOUSE), send(BAKERY)
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert first.json() == again.json()
    assert Document.objects.count() == 1


def test_a_key_whose_first_request_is_at_work_is_409(api: Api) -> None:
    number = int.from_bytes(sha256(b"idempotency:None:None:k3").digest()[:8], signed=True)
    headers = {"Idempotency-Key": "k3"}
    parameters = {**connection.get_connection_params()}
    parameters.pop("cursor_factory", None)
    with psycopg.connect(**parameters) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [number])
        busy = api.post("/ingest", {"text": LIGHTHOUSE}, headers=headers)
        other.execute("SELECT pg_advisory_unlock(%s)", [number])  # by itself it takes a moment
    assert (busy.status_code, busy.json()["error"]) == (409, "idempotency_key_busy")
    assert int(busy["Retry-After"]) > 0
    later = api.post("/ingest", {"text": LIGHTHOUSE}, headers=headers)
    assert later.status_code == 201


def test_a_failed_request_may_be_tried_again_under_its_key(api: Api) -> None:
    headers = {"Idempotency-Key": "k2"}
    body = {"text": LIGHTHOUSE, "collection": "later"}
    assert api.post("/ingest", body, headers=headers).status_code == 404
    api.post("/collections", {"name": "later"})
    assert api.post("/ingest", body, headers=headers).status_code == 201


def test_a_text_too_long_by_far_is_refused_unread(api: Api, settings: Any) -> None:
    settings.PKB_MAX_INPUT_CHARS = 500
    blanks = " " * (4 * 500 - len(LIGHTHOUSE))
    assert post(api, text=LIGHTHOUSE + blanks).status_code == 201
    # Not even the NUL was seen, which would be said of a text that is read.
    reply = post(api, text=f"\0{BAKERY}{blanks * 2}")
    assert (reply.status_code, reply.json()["error"]) == (422, "text_too_long")
