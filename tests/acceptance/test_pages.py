"""The pages as they are served: what they show, refuse and do."""

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.catalogue import create_collection, delete_collection
from corpus.jobs.run import run_job_slice
from corpus.models import Document, Job
from qa.models import Answer, Feedback
from tests.support.client import Api, upload
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of
from web.readable_collections import COOKIE
from web.views.document_pages import PAGE_CHARS


def test_an_upload_is_taken_in_by_a_job(client: Client, uploads: Path) -> None:
    job = upload(client, "Käse & <b>.md", LIGHTHOUSE.encode(), tags="Coast, North")
    assert "queued" in client.get("/ui/library").content.decode()
    assert run_job_slice(job.pk)
    page = client.get("/ui/library").content.decode()
    assert "state-ready" in page
    assert "<b>" not in page
    document = Document.objects.get()
    assert {tag.name for tag in document.tags.all()} == {"coast", "north"}
    assert Path(document.file_path).is_relative_to(uploads)


def test_pages_say_that_a_file_was_refused(client: Client, uploads: Path) -> None:
    for name, body in (("kept.md", LIGHTHOUSE.encode()), ("bad.pdf", b"%PDF-1.4 no")):
        assert run_job_slice(upload(client, name, body).pk)
    jobs = client.get("/ui/jobs").content.decode()
    assert '<span class="state is-warned">Done, 1 refused</span>' in jobs
    assert "0 of 1" in jobs
    assert "2 documents, 1 failed<" in client.get("/ui/library").content.decode()


def test_without_a_login_no_page_leads_to_the_admin_s_password(client: Client) -> None:
    assert "/admin/" not in client.get("/ui/jobs").content.decode()


def test_all_uploads_go_with_their_collection(
    client: Client, uploads: Path, django_capture_on_commit_callbacks: Any
) -> None:
    create_collection("other")
    upload(client, "bad.pdf", b"%PDF-1.4 no", collection="other")
    upload(client, "kept.md", LIGHTHOUSE.encode())
    with django_capture_on_commit_callbacks(execute=True):
        delete_collection("other")
    assert [path.name for path in uploads.glob("*/*")] == ["kept.md"]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("../../etc/passwd", "passwd", id="climbing"),
        pytest.param("a\x00b\n.txt", "a_b_.txt", id="control-characters"),
        pytest.param("..", "file", id="dots"),
        pytest.param("é" * 300 + ".pdf", "é" * 98 + ".pdf", id="too-long"),
    ],
)
def test_a_name_is_made_fit(uploads: Path, name: str, kept: str) -> None:
    from corpus.ingestion.uploaded_files import fit_name  # noqa: PLC0415

    assert fit_name(Path(name).name if "/" in name else name) == kept


def test_a_file_must_be_sent(client: Client, uploads: Path) -> None:
    assert client.post("/ui/library/upload", {}).status_code == 400


def test_a_document_is_shown_in_windows(client: Client, ingest: Ingest) -> None:
    stored = ingest("Of all the words this is one. " * 3_000)
    url = f"/ui/documents/{stored.document_id}"
    first = client.get(url).content.decode()
    assert "characters 0 to 30000" in first
    later = client.get(url, {"start": 60_000, "end": 60_010}).content.decode()
    assert 'id="passage"' in later
    assert client.get(url, {"start": 2**31}).status_code == 400
    assert client.get(url, {"start": 10**9}).status_code == 200


def take_in_markdown(client: Client, text: str) -> str:
    reply = client.post("/ingest", {"file": SimpleUploadedFile("notes.md", text.encode())})
    assert reply.status_code == 201, reply.content
    return str(reply.json()["document_id"])


def test_windows_of_a_document_join_at_whole_lines(client: Client) -> None:
    line = "Of **all** the words this is one.\n"
    url = f"/ui/documents/{take_in_markdown(client, line * 1_000)}"
    first = client.get(url).context["reading"]
    second = client.get(url, {"start": first.next}).context["reading"]
    assert first.end >= PAGE_CHARS
    assert first.end % len(line) == 0
    assert second.start == first.end
    inside = client.get(url, {"start": first.end + 7}).context["reading"]
    assert inside.start == first.end + len(line)


def test_markdown_of_documents_and_results_is_rendered_with_its_marks(client: Client) -> None:
    ferry = "# Ferry\n\nThe **ferry** to [Rodabu](https://x.example) sails at *nine*."
    document_id = take_in_markdown(client, ferry)
    text = Document.objects.get(pk=document_id).content.text
    start, end = text.index("to [Rodabu]"), text.index(" sails")
    url = f"/ui/documents/{document_id}"
    shown = client.get(url, {"start": start, "end": end}).content.decode()
    body = shown[shown.index('id="text"') :]
    assert '<span class="tint-even" id="chunk-0">Ferry</span>' in body
    assert '<mark class="cited" id="passage">to </mark>' in body
    assert '<mark class="cited">Rodabu</mark></span></a>' in body
    results = client.get("/ui/search", {"q": "ferry nine"}).content.decode()
    assert "<strong><mark>ferry</mark></strong>" in results
    assert "<em><mark>nine</mark></em>" in results
    for page in (body, results):
        assert "**" not in page
        assert "](" not in page


def test_a_passage_is_shown_with_its_place(client: Client, ingest: Ingest) -> None:
    stored = ingest(f"# Towers\n\n## Bavoke\n\n{LIGHTHOUSE}")
    document = Document.objects.get(pk=stored.document_id)
    start = document.content.text.index("Its lamp")
    span: dict[str, str | int] = {"start": start, "end": start + 8, "sha": document.content_sha256}
    url = f"/ui/documents/{stored.document_id}/passage"
    shown = client.get(url, span).content.decode()
    assert '<mark class="cited" id="passage">Its lamp</mark>' in shown
    assert "has changed" not in shown
    assert "has changed" in client.get(url, span | {"sha": "0" * 64}).content.decode()


@pytest.mark.parametrize("path", ["documents/{}", "documents/{}/passage", "jobs/{}", "{}"])
def test_what_is_not_there_is_an_html_page(client: Client, path: str) -> None:
    reply = client.get(f"/ui/{path.format(uuid4())}")
    assert reply.status_code == 404
    assert reply["Content-Type"].startswith("text/html")
    assert "There is no" in reply.content.decode()


def test_browsers_find_the_icon(client: Client) -> None:
    assert client.get("/favicon.ico")["Location"] == "/static/web/icon.svg"


def test_a_folder_outside_the_roots_is_refused(client: Client, settings: Any) -> None:
    settings.PKB_INGEST_ROOTS = []
    reply = client.post("/ui/library/folder", {"content_path": "/etc"})
    assert reply.status_code == 403
    assert Job.objects.count() == 0


def test_the_quality_page_shows_what_was_said(client: Client, ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    client.get("/answer", {"q": "Which enzyme unwinds DNA?"})
    answer = Answer.objects.get()
    Feedback.objects.create(answer=answer, rating="down", comment="<i>It should know.</i>")
    page = client.get("/ui/quality").content.decode()
    assert "Which enzyme unwinds DNA?" in page
    assert "&lt;i&gt;It should know." in page


def test_a_plot_of_no_evaluation_is_not_served(client: Client) -> None:
    assert client.get("/ui/quality/plots/any/secret_key").status_code == 404


def test_pages_are_under_the_strict_policy(client: Client) -> None:
    for path in ("/ui/ask", "/ui/library", "/answer?q="):
        strict = client.get(path)["Content-Security-Policy"]
        assert "default-src 'self'" in strict
        assert "unsafe" not in strict
    for path in ("/docs", "/admin/login/"):
        assert "http" not in client.get(path)["Content-Security-Policy"]
    assert "'unsafe-inline'" in client.get("/admin/login/")["Content-Security-Policy"]


def chosen_at(client: Client, address: str) -> str:
    """Return which collection a page has chosen."""
    page = client.get(address).content.decode()
    (chosen,) = re.findall(r'value="([^"]*)" selected', page.partition("</select>")[0])
    return str(chosen)


def test_what_is_asked_first_is_a_collection_that_has_documents(
    client: Client, ingest: Ingest
) -> None:
    assert chosen_at(client, "/ui/ask") == "default"
    notes = create_collection("notes")
    ingest_text_of(notes)(BAKERY)
    assert chosen_at(client, "/ui/ask") == "notes"
    assert chosen_at(client, "/ui/ask?collection=default") == "default"
    ingest(LIGHTHOUSE)
    assert chosen_at(client, "/ui/ask") == "*"
    assert chosen_at(client, "/ui/quality") == "default"


def test_pages_remember_the_collection_of_the_last_question(
    client: Client, api: Api, ingest: Ingest
) -> None:
    ingest(LIGHTHOUSE)
    notes = create_collection("notes")
    ingest_text_of(notes)(BAKERY)
    pages = ("/ui/ask", "/ui/search", "/ui/quality")
    assert client.get("/ui/search?q=rye&collection=notes").status_code == 200
    assert [chosen_at(client, page) for page in pages] == ["notes"] * 3
    assert chosen_at(client, "/ui/search?collection=default") == "default"
    assert chosen_at(client, "/ui/search") == "notes"
    api.ask()
    answer_id = Answer.objects.get().pk
    assert client.get(f"/ui/answers/{answer_id}/turn").status_code == 200
    assert [chosen_at(client, page) for page in pages] == ["default"] * 3
    client.cookies[COOKIE] = "99999999999999999999"
    assert chosen_at(client, "/ui/ask") == "*"
