"""Documents that OCR read: what the API and the pages say of them, and of quotes from them."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpus.ingestion.file_scan import read_file
from corpus.ingestion.ingest import reingest_document
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.submission import Attributes
from corpus.models import Collection, Document
from qa import models
from qa.answer_record import StoredCitation, find_answer_record
from tests.support.documents import ingest_file
from tests.unit.loaders.scanned_files import SENTENCES, packed, picture_of_text
from web.answer_presenter import OCR_UNSURE, read_turns

pytestmark = pytest.mark.usefixtures("cheap_model")

QUOTE = "built in 1874 by the engineer"


@pytest.fixture
def scan(tmp_path: Path, collection: Collection) -> Document:
    path = tmp_path / "bavoke.png"
    path.write_bytes(packed(picture_of_text(), "PNG"))
    file = read_file(path, root=tmp_path, max_bytes=2**20)
    stored = ingest_file(
        file.content, filename=path.name, collection=collection, attributes=Attributes.of_file(file)
    )
    return Document.objects.get(pk=stored.document_id)


def span(document: Document) -> tuple[int, int]:
    start = document.content.text.index(QUOTE)
    return start, start + len(QUOTE)


def page(client: Client, document: Document) -> str:
    start, end = span(document)
    url = reverse("web:page", args=[document.pk, 1])
    return client.get(url, {"start": start, "end": end}).content.decode()


def make_unsure(document: Document, sure: float) -> None:
    """Have OCR be as sure of the whole document."""
    outline = Outline.from_json(document.content.outline)
    runs = [
        type(run)(run.start, run.end, run.box._replace(confidence=sure)) for run in outline.scanned
    ]
    document.content.outline = Outline(outline.headings, outline.pages, (), tuple(runs)).to_json()
    document.content.save()
    document.metadata["ocr"] |= {"unsure_pages": [1], "unread_pages": [2, 3]}
    document.save()


def cited(document: Document) -> models.Citation:
    start, end = span(document)
    answer = models.Answer.objects.create(
        collection=document.collection,
        question="Who built it?",
        text=QUOTE,
        kind="answer",
        confidence=0.9,
        answerer="extractive",
    )
    return models.Citation.objects.create(
        answer=answer, ordinal=0, document=document, content_sha256=document.content_sha256,
        quote=QUOTE, start_char=start, end_char=end, answer_start=0, answer_end=len(QUOTE),
        score=0.9, support="supported", page=1,
    )  # fmt: skip


def shown(citation: models.Citation) -> dict[str, Any]:
    (quote,) = find_answer_record(citation.answer_id).citations
    return dict(StoredCitation(quote).data)


def test_a_scan_is_shown_as_one_with_its_quotes_marked_on_the_page(
    client: Client, scan: Document
) -> None:
    assert " ".join(scan.content.text.split()) == " ".join(SENTENCES)
    told = client.get(f"/documents/{scan.pk}").json()
    assert (told["page_count"], told["metadata"]["ocr"]["pages"]) == (1, [1])
    assert ">OCR<" in client.get(reverse("web:library")).content.decode()
    assert ">OCR<" in client.get(reverse("web:document", args=[scan.pk])).content.decode()
    marked = page(client, scan)
    assert marked.count("<rect") == 2
    assert "not sure" not in marked
    drawn = client.get(f"/documents/{scan.pk}/pages/1")
    assert (drawn.status_code, drawn["Content-Type"]) == (200, "image/png")
    # Cut anew, it still knows the places.
    reingest_document(scan)
    assert page(client, scan).count("<rect") == 2
    citation = cited(scan)
    assert shown(citation)["ocr_confidence"] > 0.95
    make_unsure(scan, 0.6)
    check_that_doubts_are_shown(client, scan, citation)


def test_a_request_waits_for_few_scanned_pages_only(
    client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus.ingestion.ingest.AWAITED_SCANS", 0)
    file = SimpleUploadedFile("a.png", packed(picture_of_text(), "PNG"), "image/png")
    reply = client.post("/ingest", {"file": file, "collection": collection.name})
    assert (reply.status_code, reply.json()["error"]) == (413, "too_large")
    assert "library and folders take all" in reply.json()["detail"]


def check_that_doubts_are_shown(client: Client, scan: Document, citation: models.Citation) -> None:
    assert "OCR may have misread the highlighted text" in page(client, scan)
    said = client.get(reverse("web:document", args=[scan.pk])).content.decode()
    assert "OCR may have misread page 1:" in said
    assert "Not read: pages 2 and 3, which are scanned." in said
    assert "is-warned" in client.get(reverse("web:library")).content.decode()
    assert shown(citation)["ocr_confidence"] == 0.6
    (turn,) = read_turns([find_answer_record(citation.answer_id)])
    assert [source.warning for source in turn.sources] == [OCR_UNSURE]
    # Of another version nothing is known.
    models.Citation.objects.update(content_sha256="0" * 64)
    assert shown(citation)["ocr_confidence"] is None
