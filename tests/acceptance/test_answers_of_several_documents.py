"""What is answered from more than one document: summaries of all, comparisons, lists."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from corpus.models import Document
from qa.notices import UNNAMED
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE

pytestmark = [pytest.mark.bare_models]

PAGE = "A page is an alert that wakes a person at any hour. It is reserved for damage to users."
TICKET = "A ticket is a request that is handled in working hours. It suits slow problems."


def ask(api: Api, question: str) -> Any:
    answer = api.answer(question)
    for quoted in answer["citations"] + answer["closest"]:
        text = Document.objects.get(pk=quoted["document_id"]).content.text
        assert text[quoted["start_char"] : quoted["end_char"]] == quoted["quote"]
    for close in answer["closest"]:
        text, around = Document.objects.get(pk=close["document_id"]).content.text, close["passage"]
        assert text[around["start_char"] : around["end_char"]] == around["text"]
    assert api.get(f"/answers/{answer['id']}").json()["notice"] == answer["notice"]
    return answer


def steps(answer: Any) -> list[str]:
    return [step["name"] for step in answer["debug"]["steps"]]


def steps_of_part(number: int) -> list[str]:
    names = ("retrieve", "rerank", "read", "answer", "cite", "next_part")
    return [f"part{number}.{name}" for name in names]


def test_a_few_documents_are_summed_up_together(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(BAKERY, title="Lindow")
    answer = ask(api, "What are the documents about?")
    assert answer["kind"] == "answer"
    lighthouse, bakery = answer["answer"].split("\n\n")
    assert LIGHTHOUSE.startswith(lighthouse)
    assert BAKERY.startswith(bakery)


def test_of_many_documents_it_is_asked_which(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qa.search.document_search.MAX_SECTIONS", 1)
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(BAKERY, title="Lindow")
    with CaptureQueriesContext(connection) as asked:
        answer = ask(api, "Summarise everything")
    # However many there are.
    assert not any('ORDER BY "corpus_document"."title"' in each["sql"] for each in asked)
    # A search compares all, then further passages of the best documents.
    nearest = [each for each in asked if "<=>" in each["sql"] and "LIMIT" in each["sql"]]
    assert len(nearest) == 2
    assert (answer["kind"], answer["closest"], answer["notice"]) == ("abstained", [], UNNAMED)


def test_a_selected_text_is_what_is_summed_up(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    body = {"question": "What is this document about?", "selected_text": BAKERY}
    answer = api.post("/ask-selected", body).json()
    assert BAKERY.startswith(answer["answer"])
    assert answer["citations"][0]["selected"]


def test_no_document_is_summed_up_in_the_place_of_a_selected_text(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    body = {"question": "What is this about?", "selected_text": "- rye\n- spelt"}
    answer = api.post("/ask-selected", body).json()
    assert (answer["kind"], answer["citations"], answer["notice"]) == ("abstained", [], UNNAMED)


def test_both_sides_of_a_comparison_are_told_each_from_its_document(api: Api) -> None:
    api.ingest(PAGE, title="Pages")
    api.ingest(TICKET, title="Tickets")
    answer = ask(api, "What is the difference between a page and a ticket?")
    assert "wakes a person" in answer["answer"]
    assert "working hours" in answer["answer"]
    assert len({citation["document_id"] for citation in answer["citations"]}) == 2
    assert answer["unanswered"] == []


def test_three_sides_are_told_where_no_place_tells_them_all(api: Api) -> None:
    api.ingest(PAGE, title="Pages")
    api.ingest(TICKET, title="Tickets")
    api.ingest(
        "A log is a file in which each event has a line. Nobody is told of it.", title="Logs"
    )
    answer = ask(api, "What is the difference between a page, a ticket and a log?")
    assert [citation["title"] for citation in answer["citations"]] == ["Pages", "Tickets", "Logs"]
    parts = [name for number in (1, 2, 3, 4) for name in steps_of_part(number)]
    assert steps(answer) == ["parse", *parts, "join"]


def test_a_place_that_tells_both_sides_is_quoted_as_it_stands(api: Api) -> None:
    both = "A page wakes a person at any hour, while a ticket is handled in working hours."
    api.ingest(f"{both} {both.replace('any hour', 'night')}")
    answer = ask(api, "How does a page differ from a ticket?")
    assert answer["answer"].startswith(both)
    assert steps(answer) == ["parse", *steps_of_part(1), "join"]


def test_a_side_that_no_document_tells_is_named(api: Api) -> None:
    api.ingest(PAGE, title="Pages")
    api.ingest(BAKERY, title="Lindow")
    answer = ask(api, "What is the difference between a page and a semaphore?")
    assert "wakes a person" in answer["answer"]
    assert answer["unanswered"] == ["a semaphore"]


def test_documents_that_are_sought_are_shown_and_nothing_is_said(api: Api) -> None:
    page = api.ingest(PAGE, title="Pages")
    api.ingest(BAKERY, title="Lindow")
    answer = ask(api, "Which documents talk about an alert?")
    assert (answer["kind"], answer["answer"]) == ("unsure", "")
    assert [close["document_id"] for close in answer["closest"]] == [page.document_id]


def test_documents_that_mention_it_are_shown_by_the_sentence_that_does(api: Api) -> None:
    api.ingest(
        "A semaphore is an arm on a mast that shows whether the line is free.", title="Signals"
    )
    further = "Bread is baked at noon in {}. {} paid for a semaphore in spring. Rye is dear there."
    towns = ("Aldham", "Bruck", "Cele", "Dorn")
    for town in towns:
        api.ingest(further.format(town, town), title=town)
    answer = ask(api, "Which documents talk about a semaphore?")
    assert {close["title"] for close in answer["closest"]} == {"Signals", *towns}
    assert all("semaphore" in close["quote"] for close in answer["closest"])
