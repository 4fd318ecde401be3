"""Files of the server over HTTP, and the jobs that bring them in."""

import os
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import structlog
from structlog.contextvars import get_contextvars

from corpus.errors import BackendError
from corpus.jobs.run import run_job_slice
from corpus.jobs.states import retry_job
from corpus.models import Document, Embedding, Job
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.jobs import run_job


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    inside = tmp_path / "inside"
    (inside / "notes").mkdir(parents=True)
    (inside / "notes" / "a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (inside / "notes" / "b.txt").write_text(BAKERY)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("A secret that stands outside of the root.")
    settings.PKB_INGEST_ROOTS = [tmp_path / "unused", inside]
    return inside


def encode_batch(api: Api, path: object = "notes", **body: Any) -> Any:
    body = {"directory_path": str(path), "index_name": "default", **body}
    return api.post("/encode_batch", body)


def encode_doc(api: Api, path: object = "notes/a.md", **body: Any) -> Any:
    body = {"document_path": str(path), "index_name": "default", **body}
    return api.post("/encode_doc", body)


def ingest(api: Api, path: object = "notes", **body: Any) -> Any:
    return api.post("/ingest", {"content_path": str(path), **body})


def test_a_folder_is_taken_in_by_a_job(api: Api, root: Path) -> None:
    response = encode_batch(api)
    assert response.status_code == 202
    body = response.json()
    assert set(body) == {"status", "message", "index_name", "job_id"}
    assert (body["status"], body["index_name"]) == ("queued", "default")
    shown = api.get(response["Location"]).json()
    assert shown["id"] == body["job_id"]
    assert (shown["kind"], shown["status"], shown["total"]) == ("sync", "queued", 0)
    run_job_slice(Job.objects.get().pk)
    shown = api.get(f"/jobs/{body['job_id']}").json()
    assert (shown["status"], shown["stage"]) == ("succeeded", "ended")
    assert (shown["total"], shown["done"], shown["failed"]) == (2, 2, 0)
    assert shown["errors"] == []
    assert shown["started_at"] <= shown["finished_at"]
    assert api.get("/documents").json()["results"][0]["status"] == "completed"


def test_one_id_leads_from_the_request_to_the_job_and_its_lines_in_the_log(
    api: Api, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = encode_batch(api)
    request_id = asked["X-Request-ID"]
    job_id = asked.json()["job_id"]
    assert api.get(f"/jobs/{job_id}").json()["request_id"] == request_id
    caplog.clear()
    bound: list[dict[str, Any]] = []

    def note_bound() -> bool:
        bound.append(get_contextvars())
        return False

    # As a worker does, which has no request.
    structlog.contextvars.clear_contextvars()
    run_job_slice(UUID(job_id), is_slice_over=note_bound)
    assert bound
    assert all((b["request_id"], b["job_id"]) == (request_id, job_id) for b in bound)
    assert get_contextvars() == {}
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    assert [line["event"] for line in lines] == ["job_began", "job_ended"]
    assert all((each["request_id"], each["job_id"]) == (request_id, job_id) for each in lines)
    assert (lines[1]["status"], lines[1]["done"]) == ("succeeded", 2)


def test_a_job_that_is_tried_again_bears_the_id_of_who_asked_for_that(api: Api, root: Path) -> None:
    job_id = encode_batch(api).json()["job_id"]
    cancelled = api.post(f"/jobs/{job_id}/cancel")
    assert cancelled.json()["request_id"] != cancelled["X-Request-ID"]
    again = api.post(f"/jobs/{job_id}/retry")
    assert again.json()["request_id"] == again["X-Request-ID"]
    # A command has none to give.
    api.post(f"/jobs/{job_id}/cancel")
    assert retry_job(UUID(job_id)).request_id == again["X-Request-ID"]


def test_unchanged_files_count_as_done_and_force_takes_them_in_again(api: Api, root: Path) -> None:
    for force, outcome in [(False, "added"), (False, "unchanged"), (True, "replaced")]:
        job_id = encode_batch(api, root / "notes", force_reindex=force).json()["job_id"]
        job = Job.objects.get(pk=job_id)
        run_job(job)
        assert (job.total, job.done) == (2, 2)
        assert {item.outcome for item in job.items.all()} == {outcome}


def test_ingest_takes_a_folder_with_tags(api: Api, root: Path) -> None:
    response = ingest(api, tags=["Coast"], source="disk", batch_size=1)
    assert response.status_code == 202
    assert response.json()["status"] == "queued"
    run_job_slice(Job.objects.get().pk)
    assert Document.objects.filter(tags__name="coast", source="disk").count() == 2


def test_ingest_of_a_folder_is_idempotent_under_its_key(api: Api, root: Path) -> None:
    headers = {"Idempotency-Key": "folder-1"}
    answers = [api.post("/ingest", {"content_path": "notes"}, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    assert Job.objects.count() == 1


def test_one_file_is_taken_in_at_once(api: Api, root: Path) -> None:
    first = encode_doc(api)
    assert first.status_code == 200
    assert first.json()["status"] == "added"
    assert first.json()["index_name"] == "default"
    assert first.json()["chunks_created"] == Document.objects.get().chunk_count >= 1
    assert encode_doc(api, root / "notes" / "a.md").json()["status"] == "unchanged"


def test_a_file_that_cannot_be_read_is_422_and_listed_as_failed(api: Api, root: Path) -> None:
    (root / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    assert encode_doc(api, "bad.pdf").status_code == 422
    (shown,) = api.get("/documents", {"status": "failed"}).json()["results"]
    assert shown["error"]
    assert shown["chunk_count"] == 0
    assert api.get("/documents/stats").json()["total_documents"] == 0


ESCAPES = (
    "absent", "../outside", "../outside/secret.txt", "notes/../../outside",
    "notes/../../outside/secret.txt", "/etc/passwd", "/etc", "linked", "linked/secret.txt",
    "link.txt", "pipe.txt", ".env", ".git", ".git/note.txt", "notes/.hidden.md", "inside/.env",
    "inside/../outside/secret.txt", "a\u0001b", "x" * 300,
)  # fmt: skip
OUTSIDE = ("outside", "outside/secret.txt", "inside/.env")


def test_what_is_refused_reads_like_what_is_absent(api: Api, root: Path) -> None:
    (root / "linked").symlink_to(root.parent / "outside")
    (root / "link.txt").symlink_to(root.parent / "outside" / "secret.txt")
    os.mkfifo(root / "pipe.txt")
    (root / ".git").mkdir()
    for hidden in (".env", ".git/note.txt", "notes/.hidden.md"):
        (root / hidden).write_text("A secret that begins with a dot, and is nobody's to take in.")
    for send in (encode_doc, encode_batch, ingest):
        absent = send(api, "no-such-thing")
        assert absent.status_code == 404
        for path in (*ESCAPES, f"{root}-2", *(root.parent / each for each in OUTSIDE)):
            response = send(api, path)
            assert (response.status_code, response.json()) == (404, absent.json()), path
        assert {send(api, blank).status_code for blank in ("", " ")} <= {400, 404}
    assert not Job.objects.exists()
    assert not Document.objects.exists()


def test_a_path_may_be_named_as_it_is_shown(api: Api, root: Path) -> None:
    assert encode_doc(api).status_code == 200
    (shown,) = api.get("/documents").json()["results"]
    assert shown["file_path"] == shown["source_uri"] == "inside/notes/a.md"
    assert encode_doc(api, shown["file_path"]).json()["status"] == "unchanged"
    assert encode_batch(api, "inside/notes").status_code == 202
    # What it means below a root goes before what it means with the root's name.
    (root / "inside" / "notes").mkdir(parents=True)
    (root / "inside" / "notes" / "a.md").write_text("Another text of the same name below its root.")
    assert encode_doc(api, shown["file_path"]).json()["status"] == "added"


def test_a_folder_is_no_file_and_a_file_no_folder(api: Api, root: Path) -> None:
    assert encode_doc(api, "notes").status_code == 404
    assert encode_batch(api, "notes/a.md").status_code == 404


def test_without_roots_it_is_off(api: Api, settings: Any) -> None:
    settings.PKB_INGEST_ROOTS = []
    for send in (encode_doc, encode_batch, ingest):
        response = send(api, "/etc")
        assert response.status_code == 403
        assert response.json()["error"] == "path_ingestion_off"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"directory_path": 5}, "directory_path"),
        ({"directory_path": None}, "directory_path"),
        ({"index_name": "1 bad/name"}, "index_name"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1_001}, "batch_size"),
        ({"batch_size": "100"}, "batch_size"),
        ({"force_reindex": "yes"}, "force_reindex"),
        ({"directory_path": "a\u0000b"}, "directory_path"),
    ],
)
def test_a_bad_request_is_400_and_names_the_field(
    api: Api, root: Path, body: dict[str, Any], field: str
) -> None:
    response = encode_batch(api, **body)
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field


def test_jobs_are_listed_newest_first_in_pages(api: Api, root: Path) -> None:
    ids = [encode_batch(api).json()["job_id"] for _ in range(3)]
    page = api.get("/jobs", {"limit": 2}).json()
    rest = api.get(page["next"]).json()
    assert [job["id"] for job in [*page["results"], *rest["results"]]] == ids[::-1]
    run_job_slice(Job.objects.get(pk=ids[0]).pk)
    found = api.get("/jobs", {"status": "succeeded", "kind": "sync"}).json()["results"]
    assert [job["id"] for job in found] == ids[:1]
    assert api.get("/jobs", {"status": "lost"}).status_code == 400
    assert api.get("/jobs", {"collection": "absent"}).status_code == 404


def test_retry_and_cancel_fit_the_state(api: Api, root: Path) -> None:
    job_id = encode_batch(api).json()["job_id"]
    assert api.post(f"/jobs/{job_id}/retry").status_code == 409
    cancelled = api.post(f"/jobs/{job_id}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    assert api.post(f"/jobs/{job_id}/cancel").status_code == 409
    retried = api.post(f"/jobs/{job_id}/retry")
    assert (retried.status_code, retried.json()["status"]) == (202, "queued")
    run_job_slice(Job.objects.get().pk)
    assert api.get(f"/jobs/{job_id}").json()["status"] == "succeeded"
    for act in ("retry", "cancel"):
        assert api.post(f"/jobs/{job_id}/{act}").status_code == 409


def test_an_unknown_job_is_404(api: Api) -> None:
    for key in (uuid4(), "no-uuid"):
        assert api.get(f"/jobs/{key}").status_code == 404
        assert api.post(f"/jobs/{key}/retry").status_code == 404
        assert api.post(f"/jobs/{key}/cancel").status_code == 404


def test_a_refused_file_is_shown_with_its_reason(api: Api, root: Path) -> None:
    (root / "notes" / "empty.txt").write_bytes(b"")
    job_id = encode_batch(api).json()["job_id"]
    run_job_slice(Job.objects.get().pk)
    shown = api.get(f"/jobs/{job_id}").json()
    assert (shown["status"], shown["done"], shown["failed"]) == ("succeeded", 2, 1)
    (error,) = shown["errors"]
    assert error["path"].endswith("empty.txt")
    assert error["reason"]


def test_a_document_without_all_its_vectors_says_so(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise BackendError("the model is gone")

    with monkeypatch.context() as patch:
        patch.setattr("corpus.ingestion.vectors.embed_passages", fail)
        response = api.post("/ingest", {"text": LIGHTHOUSE})
    assert response.status_code == 201
    body = response.json()
    assert (body["status"], body["embedded_count"]) == ("processing", 0)
    assert api.get(f"/documents/{body['document_id']}").json()["status"] == "processing"
    lexical = {"query": "Who built the lighthouse at Bavoke?", "mode": "lexical"}
    found = api.post("/search", lexical).json()["results"]
    assert {result["chunk_id"] for result in found} <= set(body["chunk_ids"])
    assert found
    (job,) = api.get("/jobs", {"kind": "embed"}).json()["results"]
    assert not Embedding.objects.exists()
    run_job_slice(Job.objects.get(pk=job["id"]).pk)
    assert api.get(f"/documents/{body['document_id']}").json()["status"] == "completed"
    assert Embedding.objects.count() == len(body["chunk_ids"])
