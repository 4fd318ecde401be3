"""The files that documents came from: opened as they are, and page by page."""

import os
import shutil
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.catalogue import create_collection
from corpus.endpoints import Cost
from corpus.errors import DuplicateDocument
from corpus.ingestion.file_scan import read_file
from corpus.ingestion.ingest import reingest_document
from corpus.ingestion.submission import Attributes
from corpus.ingestion.uploaded_files import ORPHAN_AGE_S, save_upload
from corpus.invariants import Violation, find_violations
from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Document, DocumentContent
from pkb.http.endpoint_lookup import find_endpoint
from qa.retention import purge
from tests.support.client import upload
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_file
from tests.unit.loaders.sample_files import Pdf

pytestmark = pytest.mark.usefixtures("cheap_model")

SENTENCE = "High water at Bavoke is at nine"


def tide_tables() -> bytes:
    pdf = Pdf().line("Tide tables", 740, size=24).line("Of the coast at Bavoke.", 700)
    pdf.page().line("Spring", 740, size=18)
    return pdf.line(f"{SENTENCE} in the mor-", 700).line("ning, and at ten at night.", 686).bytes()


def taken_in(path: Path, content: bytes, collection: Collection) -> Document:
    path.write_bytes(content)
    file = read_file(path, root=path.parent, max_bytes=2**20)
    attributes = Attributes.of_file(file)
    stored = ingest_file(content, filename=path.name, collection=collection, attributes=attributes)
    return Document.objects.get(pk=stored.document_id)


@pytest.fixture
def tides(tmp_path: Path, collection: Collection) -> Document:
    return taken_in(tmp_path / "tides.pdf", tide_tables(), collection)


def kind_of_problem(reply: Any) -> str:
    return str(reply.json()["error"])


def original(document: Document, **query: str) -> str:
    return f"/documents/{document.pk}/original" + ("?download=true" if query else "")


def test_an_upload_is_read_back_byte_by_byte(client: Client, uploads: Path) -> None:
    run_job_slice(upload(client, "Käse.md", LIGHTHOUSE.encode()).pk)
    reply = client.get(original(Document.objects.get()))
    assert reply.content == LIGHTHOUSE.encode()
    assert reply["Content-Type"] == "text/plain; charset=utf-8"
    assert reply["Content-Disposition"] == "inline; filename*=utf-8''K%C3%A4se.md"


def test_a_pdf_is_shown_unless_it_is_to_be_downloaded(client: Client, tides: Document) -> None:
    shown, kept = client.get(original(tides)), client.get(original(tides, download="true"))
    assert (shown["Content-Type"], kept["Content-Type"]) == ("application/pdf",) * 2
    assert shown["Content-Disposition"] == 'inline; filename="tides.pdf"'
    assert kept["Content-Disposition"] == 'attachment; filename="tides.pdf"'
    assert shown["Content-Security-Policy"].endswith("; sandbox")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", "<html><script>alert(1)</script><p>Of the lighthouse at Bavoke.</html>"),
        ("drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'><text>Bavoke</text></svg>"),
        ("letter.eml", "From: a@b.example\nTo: c@d.example\nSubject: Hi\n\n<b>Of the lamp.</b>"),
    ],
)
def test_what_could_run_is_only_downloaded(
    client: Client, tmp_path: Path, collection: Collection, name: str, content: str
) -> None:
    reply = client.get(original(taken_in(tmp_path / name, content.encode(), collection)))
    assert reply["Content-Type"] == "application/octet-stream"
    assert reply["Content-Disposition"] == f'attachment; filename="{name}"'
    assert "sandbox" in reply["Content-Security-Policy"]


def test_html_that_is_called_text_stays_text(
    client: Client, tmp_path: Path, collection: Collection
) -> None:
    content = b"Not HTML at first. <script>alert(1)</script> \xe9\xe8 of the coast."
    reply = client.get(original(taken_in(tmp_path / "a.txt", content, collection)))
    assert reply["Content-Type"] == "text/plain"
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert reply["Content-Security-Policy"].startswith("default-src 'none'")


def test_a_name_breaks_out_of_no_header(
    client: Client, tmp_path: Path, collection: Collection
) -> None:
    name = 'a"; filename=b.html\n;.txt'
    reply = client.get(original(taken_in(tmp_path / name, LIGHTHOUSE.encode(), collection)))
    assert reply["Content-Disposition"] == 'inline; filename="a_; filename=b.html_;.txt"'


def test_a_text_has_no_original(client: Client, ingest: Ingest) -> None:
    stored = ingest(LIGHTHOUSE, source_uri="file:///etc/passwd")
    reply = client.get(f"/documents/{stored.document_id}/original")
    assert (reply.status_code, kind_of_problem(reply)) == (404, "original_not_found")
    assert client.get(f"/documents/{uuid4()}/original").status_code == 404


def test_another_file_in_its_place_is_never_told(client: Client, tides: Document) -> None:
    Path(tides.file_path).write_bytes(b"%PDF-1.4 of something private")
    for url in (original(tides), f"/documents/{tides.pk}/pages/1"):
        reply = client.get(url)
        assert (reply.status_code, kind_of_problem(reply)) == (409, "original_changed")
        assert b"private" not in reply.content


def test_a_link_in_its_place_is_not_followed(client: Client, tides: Document) -> None:
    path = Path(tides.file_path)
    path.rename(path.with_name("moved.pdf"))
    path.symlink_to(path.with_name("moved.pdf"))
    assert client.get(original(tides)).status_code == 409
    path.unlink()
    assert client.get(original(tides)).status_code == 404


def send(client: Client, content: bytes, **fields: str) -> Document:
    reply = client.post("/ingest", {"file": SimpleUploadedFile("Käse.md", content), **fields})
    assert reply.status_code in {200, 201}, reply.content
    return Document.objects.get(pk=reply.json()["document_id"])


def kept_in(uploads: Path) -> list[bytes]:
    return [path.read_bytes() for path in uploads.glob("*/*")]


def test_a_file_sent_to_ingest_is_read_back_byte_by_byte(client: Client, uploads: Path) -> None:
    document = send(client, b"\xef\xbb\xbf" + LIGHTHOUSE.encode(), source_uri="https://a.example/b")
    reply = client.get(original(document))
    assert reply.content == b"\xef\xbb\xbf" + LIGHTHOUSE.encode()
    assert reply["Content-Disposition"] == "inline; filename*=utf-8''K%C3%A4se.md"
    shown = client.get(f"/documents/{document.pk}").json()
    assert (shown["file_path"], shown["source_uri"]) == ("", "https://a.example/b")
    assert str(uploads) not in str(shown)
    assert (
        f"/documents/{document.pk}/original"
        in client.get(f"/ui/documents/{document.pk}").content.decode()
    )
    assert list(find_violations()) == []


def test_a_kept_file_is_its_owner_s(client: Client, uploads: Path) -> None:
    send(client, LIGHTHOUSE.encode())
    modes = [path.stat().st_mode & 0o777 for path in (uploads, *sorted(uploads.rglob("*")))]
    assert modes == [0o700, 0o700, 0o600]


def test_pages_are_drawn_of_a_pdf_sent_to_ingest(client: Client, uploads: Path) -> None:
    document = send(client, tide_tables())
    assert client.get(f"/documents/{document.pk}/pages/2")["Content-Type"] == "image/png"


def test_a_kept_file_is_replaced_with_its_version(
    client: Client, uploads: Path, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        send(client, LIGHTHOUSE.encode(), source_uri="coast")
        document = send(client, BAKERY.encode(), source_uri="coast")
    assert kept_in(uploads) == [client.get(original(document)).content] == [BAKERY.encode()]
    with django_capture_on_commit_callbacks(execute=True):
        reingest_document(document)
    assert client.get(original(document)).status_code == 200
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/ingest", {"text": LIGHTHOUSE, "source_uri": "coast"}, "application/json")
    assert kept_in(uploads) == []
    assert client.get(original(document)).status_code == 404


@pytest.mark.parametrize("way", ["document", "collection"])
def test_a_kept_file_goes_with_its_document(
    client: Client, uploads: Path, way: str, django_capture_on_commit_callbacks: Any
) -> None:
    create_collection("other")
    document = send(client, LIGHTHOUSE.encode(), collection="other")
    with django_capture_on_commit_callbacks(execute=True):
        client.delete(f"/documents/{document.pk}" if way == "document" else "/collections/other")
    assert list(uploads.iterdir()) == []


def test_nothing_is_kept_where_that_is_off(client: Client, uploads: Path, settings: Any) -> None:
    settings.PKB_KEEP_ORIGINALS = False
    document = send(client, LIGHTHOUSE.encode())
    assert client.get(original(document)).status_code == 404
    assert not uploads.exists()


def test_a_file_whose_transaction_fails_is_not_kept(
    collection: Collection, ingest: Ingest, uploads: Path
) -> None:
    def be_sooner() -> None:
        ingest(LIGHTHOUSE)

    with pytest.raises(DuplicateDocument):
        ingest_file(
            LIGHTHOUSE.encode(),
            filename="a.txt",
            collection=collection,
            attributes=Attributes(),
            keep_file=True,
            on_embedding=be_sooner,
        )
    assert list(uploads.iterdir()) == []


def test_what_a_killed_process_left_behind_is_told_and_swept(client: Client, uploads: Path) -> None:
    upload(client, "waiting.md", BAKERY.encode())
    send(client, LIGHTHOUSE.encode())
    left, fresh = (save_upload([b"left behind"], name="a.md").parent for _ in range(2))
    foreign = uploads / ("0" * 32)
    foreign.mkdir()
    long_ago = time() - ORPHAN_AGE_S - 1
    for folder in {*uploads.iterdir()} - {fresh}:
        os.utime(folder, (long_ago, long_ago))
    assert list(find_violations()) == [
        Violation("a file that was sent is of no document", left.name)
    ]
    assert purge()["files"] == 1
    assert not left.exists()
    assert fresh.exists()
    assert foreign.exists()
    assert sorted(kept_in(uploads)) == sorted(
        [BAKERY.encode(), LIGHTHOUSE.encode(), b"left behind"]
    )


def test_a_document_whose_kept_file_is_gone_is_told(client: Client, uploads: Path) -> None:
    run_job_slice(upload(client, "a.md", BAKERY.encode()).pk)
    send(client, LIGHTHOUSE.encode())
    for folder in uploads.iterdir():
        shutil.rmtree(folder)
    told = {f"the file that a document was sent as is gone: {d.pk}" for d in Document.objects.all()}
    assert set(map(str, find_violations())) == told


def test_a_page_is_an_image_that_is_asked_for_again(client: Client, tides: Document) -> None:
    url = f"/documents/{tides.pk}/pages/2"
    reply = client.get(url)
    assert reply["Content-Type"] == "image/png"
    assert reply.content.startswith(b"\x89PNG")
    assert reply["Cache-Control"] == "private, no-cache"
    again = client.get(url, headers={"if-none-match": reply["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_only_pages_that_are_there_are_drawn(
    client: Client, tides: Document, tmp_path: Path, collection: Collection
) -> None:
    assert kind_of_problem(client.get(f"/documents/{tides.pk}/pages/3")) == "page_not_found"
    note = taken_in(tmp_path / "note.txt", LIGHTHOUSE.encode(), collection)
    assert kind_of_problem(client.get(f"/documents/{note.pk}/pages/1")) == "page_not_found"


def span_of(document: Document, words: str) -> dict[str, int]:
    start = document.content.text.index(words)
    return {"start": start, "end": start + len(words)}


def test_a_quote_is_marked_on_its_page(client: Client, tides: Document) -> None:
    span = span_of(tides, f"{SENTENCE} in the morning")
    page = client.get(f"/ui/documents/{tides.pk}/pages/2", span).content.decode()
    assert page.count('class="sheet-mark"') == 2
    assert f'href="/documents/{tides.pk}/pages/2"' in page
    assert "Page <strong>2</strong> of 2" in page
    text = client.get(f"/ui/documents/{tides.pk}", span).content.decode()
    assert f"/ui/documents/{tides.pk}/pages/2?" in text


def test_a_quote_that_is_not_on_the_page_is_said_to_be_unmarked(
    client: Client, tides: Document
) -> None:
    # As by a loader that reads a page in another order.
    altered = tides.content.text.replace("nine", "noon")
    DocumentContent.objects.filter(document=tides).update(text=altered)
    span = span_of(tides, SENTENCE)
    page = client.get(f"/ui/documents/{tides.pk}/pages/2", span).content.decode()
    assert "sheet-mark" not in page
    assert "was not found on this page" in page
    other: Any = client.get(f"/ui/documents/{tides.pk}/pages/1", span).content.decode()
    assert "was not found" not in other


CUT = "where the tide is high in spring, it is known that the pumps run"


@pytest.fixture
def pumps(tmp_path: Path, collection: Collection) -> Document:
    """A sentence on two pages, and a footnote between its parts."""
    pdf = Pdf().line("Of the coast at Bavoke, where the tide is high in spring, it is", 700)
    pdf.line("1 As told by the harbour.", 60, size=7)
    content = pdf.page().line("known that the pumps run at nine in the morning.", 740).bytes()
    return taken_in(tmp_path / "pumps.pdf", content, collection)


def test_a_quote_over_two_pages_is_marked_on_both(client: Client, pumps: Document) -> None:
    span = span_of(pumps, CUT)
    for number, other in ((1, 2), (2, 1)):
        url = f"/ui/documents/{pumps.pk}/pages/"
        page = client.get(f"{url}{number}", span).content.decode()
        assert page.count('class="sheet-mark"') == 1
        assert f'The quote is also on <a href="{url}{other}?start=' in page
    note = span_of(pumps, "As told by the harbour.")
    page = client.get(f"/ui/documents/{pumps.pk}/pages/1", note).content.decode()
    assert page.count('class="sheet-mark"') == 1
    assert "The quote is also on" not in page


def test_a_passage_leads_to_its_page(client: Client, tides: Document) -> None:
    span = span_of(tides, SENTENCE)
    shown = client.get(f"/ui/documents/{tides.pk}/passage", span).content.decode()
    assert f"/ui/documents/{tides.pk}/pages/2?start={span['start']}" in shown


def test_headings_stand_beside_a_document(
    client: Client, tmp_path: Path, collection: Collection
) -> None:
    text = f"# Coast\n\n## Bavoke\n\n{LIGHTHOUSE}\n\n## Lindow\n\nOf bread."
    document = taken_in(tmp_path / "a.md", text.encode(), collection)
    page = client.get(f"/ui/documents/{document.pk}").content.decode()
    outline = page[page.index('aria-label="Outline"') :]
    assert outline.index("Coast") < outline.index("Bavoke") < outline.index("Lindow")
    assert 'class="depth-1"' in outline


@pytest.mark.parametrize("path", ["original", "pages/3"])
def test_reading_a_file_takes_a_place_like_a_search(path: str) -> None:
    assert find_endpoint("GET", f"/documents/{uuid4()}/{path}").cost == Cost.SEARCH
    assert find_endpoint("GET", f"/ui/documents/{uuid4()}/pages/3").cost == Cost.SEARCH
    assert find_endpoint("GET", f"/documents/{uuid4()}/text").cost == Cost.LIGHT
    assert find_endpoint("POST", f"/ui/documents/{uuid4()}/reingest").cost == Cost.ENCODE
