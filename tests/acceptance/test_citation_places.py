"""The pages that citations say their quotes stand on, when they are given and ever after."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from corpus.ingestion.normal_form import ScannedRun, pack_runs
from corpus.loaders.blocks import OcrBox
from corpus.loaders.ocr import OCR
from corpus.models import Collection, Document, DocumentContent
from qa import models
from qa.answer_question import record_answer
from qa.answer_record import AnswerShown, new_answer_record, stored_answer_records
from qa.search.display import add_page_numbers
from qa.search.hybrid import passage_of
from qa.types import Answer, AnsweredQuestion, Citation, ClosePassage
from tests.acceptance.test_originals import (
    CUT,
    pumps,  # noqa: F401  (a fixture)
    span_of,
    taken_in,
    tide_tables,
)
from tests.support.client import Api
from tests.unit.loaders.sample_files import Pdf
from web.answer_presenter import read_turns

pytestmark = pytest.mark.usefixtures("cheap_model")


def quoting(document: Document, quote: str) -> Citation:
    start, end = span_of(document, quote).values()
    chunk = document.chunks.with_document().overlapping(start, end).get()
    passage = passage_of(chunk, score=0.9, similarity=0.9)
    return Citation(passage, quote, start, end, 0, len(quote), 0.9, "supported")


def answer_with(citations: Sequence[Citation]) -> Answer:
    return Answer("When?", citations[0].quote, 0.9, tuple(citations), answerer="extractive")


def unsure_with(citation: Citation) -> Answer:
    close = ClosePassage(citation.passage, citation.start_char, citation.end_char, 0.3)
    return Answer("When?", "", 0.3, closest=(close,), is_unsure=True, answerer="extractive")


def give(collection: Collection, made: Answer) -> dict[str, Any]:
    """Store an answer, and return it as who asked is told."""
    answer = add_page_numbers(made)
    answered = AnsweredQuestion("", answer, searched="When?", passages=())
    key = record_answer(answered, collection=collection)
    return dict(AnswerShown(new_answer_record(replace(answered, id=key))).data)


def pages_told(answer: dict[str, Any]) -> list[tuple[int | None, int | None]]:
    return [(each["page"], each["last_page"]) for each in answer["citations"]]


def replace_document(document: Document, path: Path) -> None:
    taken_in(path, tide_tables(), document.collection)
    assert Document.objects.get().content_sha256 != document.content_sha256


@pytest.mark.parametrize(
    ("quote", "pages", "said"),
    [(CUT, (1, 2), "pages 1–2"), ("the pumps run", (2, 2), "page 2"),
     ("As told by the harbour", (1, 1), "page 1")],
    ids=["over both", "on the second", "between"],
)  # fmt: skip
def test_citation_of_a_replaced_document_says_the_pages_of_its_quote(
    api: Api,
    pumps: Document,  # noqa: F811
    tmp_path: Path,
    quote: str,
    pages: tuple[int, int],
    said: str,
) -> None:
    given = give(pumps.collection, answer_with([quoting(pumps, quote)]))
    assert pages_told(given) == [pages]
    replace_document(pumps, tmp_path / "pumps.pdf")
    assert pages_told(api.get(f"/answers/{given['id']}").json()) == [pages]
    (turn,) = read_turns(stored_answer_records(models.Answer.objects.shown()))
    assert [source.pages for source in turn.passages[0]] == [said]


def test_citation_without_kept_pages_says_them_while_its_version_stands(
    api: Api,
    pumps: Document,  # noqa: F811
    tmp_path: Path,
) -> None:
    given = give(pumps.collection, answer_with([quoting(pumps, "the pumps run")]))
    # As it was stored: the page that the passage begins on, and no other.
    models.Citation.objects.update(page=1, last_page=None)
    assert pages_told(api.get(f"/answers/{given['id']}").json()) == [(2, 2)]
    replace_document(pumps, tmp_path / "pumps.pdf")
    assert pages_told(api.get(f"/answers/{given['id']}").json()) == [(1, 1)]


def test_document_replaced_while_answered_is_cited_at_its_passage_start(
    api: Api,
    pumps: Document,  # noqa: F811
    tmp_path: Path,
) -> None:
    citation = quoting(pumps, "the pumps run")
    replace_document(pumps, tmp_path / "pumps.pdf")
    given = give(pumps.collection, answer_with([citation]))
    assert pages_told(given) == pages_told(api.get(f"/answers/{given['id']}").json()) == [(1, 1)]


def test_citation_of_a_replaced_scan_tells_what_ocr_was_not_sure_of(
    api: Api,
    pumps: Document,  # noqa: F811
    tmp_path: Path,
) -> None:
    start, end = span_of(pumps, CUT).values()
    unsure = pack_runs([ScannedRun(start, end, OcrBox(0, 0.6, 0, 0, 9, 0, 5))])
    DocumentContent.objects.update(outline={**pumps.content.outline, "scanned": unsure})
    Document.objects.update(metadata={OCR: {}})
    given = give(pumps.collection, answer_with([quoting(pumps, CUT)]))
    close = give(pumps.collection, unsure_with(quoting(pumps, CUT)))
    closest = [close["closest"], api.get(f"/answers/{close['id']}").json()["closest"]]
    assert [each["ocr_confidence"] for (each,) in closest] == [0.6, 0.6]
    replace_document(pumps, tmp_path / "pumps.pdf")
    again = api.get(f"/answers/{given['id']}").json()
    assert [each["citations"][0]["ocr_confidence"] for each in (given, again)] == [0.6, 0.6]


def test_five_citations_of_pdfs_take_no_more_statements_than_one(
    api: Api, tmp_path: Path, collection: Collection
) -> None:
    citations = []
    for number in range(5):
        quote = f"Pump {number} runs at nine"
        pdf = Pdf().line("Of pumps.", 740).page().line(f"{quote}.", 740)
        document = taken_in(tmp_path / f"{number}.pdf", pdf.bytes(), collection)
        # As if OCR had read some of it.
        document.metadata = {**document.metadata, OCR: {"pages": [1]}}
        document.save()
        citations.append(quoting(document, quote))
    counts = []
    for cited in (citations[:1], citations):
        with CaptureQueriesContext(connection) as asked:
            given = give(collection, answer_with(cited))
            again = api.get(f"/answers/{given['id']}").json()
        assert pages_told(given) == pages_told(again) == [(2, 2)] * len(cited)
        counts.append(len(asked))
    assert counts[0] == counts[1]
