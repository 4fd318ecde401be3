"""POST /count, and questions that are answered by counting."""

from typing import Any

import pytest

from corpus.models import Document
from tests.support.client import Api
from tests.support.documents import BAKERY

DRIFT = (
    "# Drift\n\nA drift check compares two days. Drift\nchecks differ: a drift-check is none. "
    "The DRIFT CHECK runs at example.org/drift and as <drift>.\n"
)
FURTHER = "The drift\ncheck of the bakery in Lindow is not a drifting check of anything at all."


def count(api: Api, query: str, **body: Any) -> Any:
    reply = api.post("/count", {"query": query, **body})
    assert reply.status_code == 200, reply.content
    return reply.json()


@pytest.fixture
def drift(api: Api) -> dict[str, str]:
    texts = {"Drift": DRIFT, "Further": FURTHER, "Lindow": BAKERY}
    return {
        title: api.ingest(text, title=title, tags=(title.lower(),)).document_id
        for title, text in texts.items()
    }


def test_whole_words_in_any_case_are_counted(api: Api, drift: dict[str, str]) -> None:
    found = count(api, "drift check", unit="mention")
    assert (found["document_count"], found["mention_count"]) == (2, 3)
    assert (found["searched_count"], found["unread_count"]) == (3, 0)
    assert [each["quote"] for each in found["results"]] == [
        "drift check", "DRIFT CHECK", "drift\ncheck",
    ]  # fmt: skip
    for each in found["results"]:
        document = Document.objects.with_text().get(pk=each["document_id"])
        assert document.content_sha256 == each["content_sha256"]
        assert document.text[each["start_char"] : each["end_char"]] == each["quote"]
        around = each["context"]
        assert document.text[around["start_char"] : around["end_char"]] == around["text"]


def test_question_is_answered_by_the_count(api: Api, drift: dict[str, str]) -> None:
    answer = api.answer("How many documents mention a drift check?")
    assert answer["answer"].startswith("2 of 3 documents mention “drift check”, 3 times in all.")
    assert (answer["kind"], answer["confidence"], answer["answerer"]) == ("answer", 1.0, "count")
    assert {each["document_id"] for each in answer["citations"]} == {
        drift["Drift"],
        drift["Further"],
    }
    for each in answer["citations"]:
        assert answer["answer"][each["answer_start"] : each["answer_end"]] == each["quote"]


def test_what_nobody_mentions_is_said(api: Api, drift: dict[str, str]) -> None:
    answer = api.answer("How many documents mention a semaphore?")
    assert (answer["kind"], answer["answer"]) == ("abstained", "")
    assert answer["notice"].startswith("No document mentions exactly these words.")
