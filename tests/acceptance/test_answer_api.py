"""GET /answer as scripts use it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse

from corpus.ingestion.submission import Attributes
from corpus.models import Collection, Document
from qa.configuration_hash import configuration_sha256
from qa.models import Answer
from qa.notices import GREETING
from tests.support.client import Api
from tests.support.documents import (
    BAKERY,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    Ingest,
    ingest_file,
    long_text,
)
from tests.support.drawing import examples


@pytest.mark.bare_models
def test_an_ingested_fact_is_answered_with_a_verbatim_citation(api: Api) -> None:
    api.ingest(BAKERY)
    stored = api.ingest(LIGHTHOUSE, title="Bavoke")
    answer = api.answer()
    assert not answer["abstained"]
    assert "Orsolya Quill" in answer["answer"]
    assert 0.5 <= answer["confidence"] <= 1
    for citation in answer["citations"]:
        text = Document.objects.get(pk=citation["document_id"]).content.text
        assert text[citation["start_char"] : citation["end_char"]] == citation["quote"]
        assert citation["document_id"] == stored.document_id
        assert citation["chunk_id"] in stored.chunk_ids
        assert len(citation["preview"]) <= 160
        said = answer["answer"][citation["answer_start"] : citation["answer_end"]]
        assert said == citation["quote"]


def test_an_answer_is_kept_with_its_citations(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    shown = api.answer()
    kept = Answer.objects.get(pk=shown["id"])
    assert kept.text == shown["answer"]
    assert [c.quote for c in kept.citations.all()] == [c["quote"] for c in shown["citations"]]
    assert kept.configuration_sha256 == configuration_sha256(kept.embedding_model)


def test_both_halves_of_a_question_are_answered_from_their_own_passages(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(BAKERY, title="Lindow")
    answer = api.answer("Who built the lighthouse at Bavoke and when does the bakery open?")
    assert (answer["kind"], answer["unanswered"]) == ("answer", [])
    assert "Orsolya Quill" in answer["answer"]
    assert "at five in the morning" in answer["answer"]
    assert {citation["title"] for citation in answer["citations"]} == {"Bavoke", "Lindow"}
    for citation in answer["citations"]:
        said = answer["answer"][citation["answer_start"] : citation["answer_end"]]
        assert said == citation["quote"]


def test_an_answer_about_something_else_than_is_named_says_so(api: Api) -> None:
    api.ingest("Staff may take three days off when they move house.", title="Time off")
    question = "How many days off do staff get when they move house?"
    answer = api.answer(question.replace("staff", "staff at Torvik"))
    assert "three days" in answer["answer"]
    assert answer["not_about"] == ["Torvik"]
    assert answer["notice"] == "Not about Torvik: this is from “Time off”."
    again = api.get(f"/answers/{answer['id']}").json()
    assert (again["not_about"], again["notice"]) == (answer["not_about"], answer["notice"])
    without_name = api.answer(question)
    assert (without_name["not_about"], without_name["notice"]) == ([], None)


def test_the_half_that_has_no_answer_is_named(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    second = "What is the boiling point of tungsten?"
    answer = api.answer(f"{LIGHTHOUSE_QUESTION} {second}")
    assert "Orsolya Quill" in answer["answer"]
    assert answer["unanswered"] == [second]


def test_the_parts_of_a_question_are_steps_of_their_own(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(BAKERY, title="Lindow")
    answer = api.answer("Who built the lighthouse at Bavoke and when does the bakery open?")
    steps = answer["debug"]["steps"]
    each = ["retrieve", "rerank", "read", "answer", "cite", "next_part"]
    assert [step["name"] for step in steps] == [
        "parse",
        *(f"part1.{name}" for name in each),
        *(f"part2.{name}" for name in each),
        "join",
    ]
    searched = {step["name"]: step["searched"] for step in steps if "searched" in step}
    assert searched["parse"] == "Who built the lighthouse at Bavoke?"
    assert searched["part1.next_part"] == "when does the bakery open?"


GUIDE = (
    "# Fire manual\n\n## Alarms\n\nRing the bell twice before you leave the hall. Then walk.\n\n"
    "## Exits\n\nThe north exit is open at all hours. The south exit is not.\n"
)


def test_a_document_is_summed_up_by_its_outline(api: Api, collection: Collection) -> None:
    api.ingest(BAKERY, title="Lindow")
    attributes = Attributes(title="Fire manual")
    ingest_file(GUIDE.encode(), filename="fire.md", collection=collection, attributes=attributes)
    answer = api.answer("Summarise the fire manual")
    assert answer["answer"] == (
        "## Alarms\n\nRing the bell twice before you leave the hall.\n\n"
        "## Exits\n\nThe north exit is open at all hours."
    )
    assert (answer["answerer"], answer["kind"]) == ("extractive", "answer")
    for citation in answer["citations"]:
        text = Document.objects.get(pk=citation["document_id"]).content.text
        assert text[citation["start_char"] : citation["end_char"]] == citation["quote"]


def test_without_headings_a_summary_is_how_the_document_begins(api: Api) -> None:
    api.ingest(BAKERY, title="Lindow")
    answer = api.answer("What is this document about?")
    assert answer["answer"] == "The bakery in Lindow opens at five in the morning."


def test_a_summary_of_what_is_not_there_is_no_summary(api: Api) -> None:
    api.ingest(BAKERY, title="Lindow")
    assert api.answer("Summarise the quarterly report on tungsten")["kind"] != "answer"


def test_a_greeting_is_not_looked_up(api: Api) -> None:
    api.ingest(BAKERY, title="Lindow")
    answer = api.answer("Hello!")
    assert (answer["kind"], answer["answer"], answer["closest"]) == ("abstained", "", [])
    assert answer["notice"] == GREETING
    assert [step["name"] for step in answer["debug"]["steps"]] == ["parse", "abstain"]


OF_2019, OF_2024 = (datetime(year, 5, 1, tzinfo=UTC) for year in (2019, 2024))


def ask_of_two(api: Api, ingest: Ingest, *dates: datetime | None) -> dict[str, Any]:
    """Who built it, where the first document says that Quill did, and the second that Berg did."""
    other = LIGHTHOUSE.replace("Orsolya Quill", "Tamas Berg")
    ingest(LIGHTHOUSE, title="Bavoke", user_created_at=dates[0])
    ingest(other, title="Coast", user_created_at=dates[1])
    answer: dict[str, Any] = api.answer()
    return answer


@pytest.mark.parametrize(
    ("dates", "newer", "older"),
    [
        ((OF_2019, OF_2024), "Tamas Berg", "Orsolya Quill"),
        ((OF_2024, OF_2019), "Orsolya Quill", "Tamas Berg"),
    ],
)
def test_of_documents_that_disagree_the_newest_answers(
    api: Api, ingest: Ingest, dates: tuple[datetime, datetime], newer: str, older: str
) -> None:
    answer = ask_of_two(api, ingest, *dates)
    (citation,), (other,) = answer["citations"], answer["disagreement"]
    assert newer in answer["answer"]
    assert older in other["quote"]
    assert newer in answer["short"]
    assert answer["confidence"] >= settings.PKB_ANSWER_FROM
    told = [each["document_date"] for each in (citation, other)]
    assert told == ["2024-05-01", "2019-05-01"]
    stored = api.get(f"/answers/{answer['id']}").json()
    assert stored["citations"][0]["document_date"] == "2024-05-01"
    assert stored["disagreement"] == answer["disagreement"]
    page = api.page(reverse("web:answer", args=[answer["id"]]))
    assert page.index("1 May 2024") < page.index("Your documents disagree:")
    assert page.index("Your documents disagree:") < page.index("1 May 2019")
    export = api.page(reverse("web:answer_markdown", args=[answer["id"]]))
    assert "- Coast, 2019-05-01: " in export or "- Bavoke, 2019-05-01: " in export


def test_of_documents_of_which_a_date_is_not_known_the_likeliest_answers(
    api: Api, ingest: Ingest
) -> None:
    undated = ask_of_two(api, ingest, None, None)
    Document.objects.filter(title="Coast").update(user_created_at=OF_2024)
    one = api.answer()
    Document.objects.filter(title="Coast").update(user_created_at=None)
    Document.objects.filter(title="Bavoke").update(user_created_at=OF_2024)
    other = api.answer()
    assert undated["answer"] == one["answer"] == other["answer"]
    dates = [each["citations"][0]["document_date"] for each in (undated, one, other)]
    assert dates[0] is None
    assert sorted(dates[1:], key=bool) == [None, "2024-05-01"]


# By the models themselves: six in each run, all in a campaign.
NONSENSE = [
    "Zxqv blorptang fnimble wuzzlethorp quibnax dreffle?",
    "What is the boiling point of tungsten hexafluoride in kelvin?",
    "asdf qwer zxcv",
    "?????",
    "Which colour does the number seven eat on Thursdays in Borneo?",
    "How many moons does the stapler have?",
    "Who won the 1987 chess olympiad for octopuses?",
    "lorem ipsum dolor sit amet",
    "1234567890",
    "What did the quadratic equation say to the refrigerator?",
    "Where do sleeping algorithms buy their shoes?",
    "How tall is yesterday?",
    "Why does the alphabet smell of purple?",
    "What is the capital of the square root of minus one?",
    "zzzz zzzz zzzz zzzz",
    "Which programming language do bananas prefer?",
    "How do I reset my password on the office printer?",
    "What is the recommended dose of ibuprofen for a horse?",
    "Translate this sentence into Klingon, please.",
    "🚀🚀🚀",
][: examples(6)]


@pytest.mark.bare_models
@pytest.mark.parametrize("question", NONSENSE)
def test_what_the_documents_do_not_hold_is_not_answered(api: Api, question: str) -> None:
    api.ingest(LIGHTHOUSE)
    api.ingest(BAKERY)
    answer = api.answer(question)
    assert answer["abstained"] is True
    assert answer["answer"] == ""
    assert answer["citations"] == []
    assert answer["confidence"] < 0.5


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (LIGHTHOUSE_QUESTION, "answer"),
        ("Who repaired the lighthouse at Bavoke in 1990?", "unsure"),
        ("Which programming language do bananas prefer?", "abstained"),
    ],
)
def test_closest_passage_is_shown_as_it_stands_around_its_quote(
    api: Api, question: str, kind: str
) -> None:
    api.ingest(long_text(3), title="Parish")
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(BAKERY, title="Lindow")
    given = api.answer(question)
    stored = api.get(f"/answers/{given['id']}").json()
    assert given["kind"] == kind
    assert given["closest"]
    # Of a span that stands in two chunks either is named.
    shown = [[{**each, "chunk_id": ""} for each in told["closest"]] for told in (given, stored)]
    assert shown[0] == shown[1]
    cited = {citation["chunk_id"] for citation in given["citations"]}
    for close in given["closest"]:
        text = Document.objects.get(pk=close["document_id"]).content.text
        around = close["passage"]
        assert text[around["start_char"] : around["end_char"]] == around["text"]
        assert text[close["start_char"] : close["end_char"]] == close["quote"]
        assert around["start_char"] <= close["start_char"]
        assert close["end_char"] <= around["end_char"]
        assert len(around["text"].split()) <= 140
        assert close["chunk_id"] not in cited
    assert len({close["chunk_id"] for close in given["closest"]}) == len(given["closest"]) <= 5


def test_of_a_document_that_was_replaced_a_stored_answer_shows_no_passage(api: Api) -> None:
    api.ingest(BAKERY, title="Lindow", source_uri="note:bakery")
    api.ingest(LIGHTHOUSE, title="Bavoke")
    given = api.answer()
    assert [close["title"] for close in given["closest"]] == ["Lindow"]
    api.ingest(BAKERY.replace("five", "six"), title="Lindow", source_uri="note:bakery")
    assert api.get(f"/answers/{given['id']}").json()["closest"] == []


def test_an_empty_collection_answers_nothing(api: Api) -> None:
    assert api.answer()["abstained"] is True


def test_a_tag_keeps_to_its_documents(api: Api) -> None:
    wren = api.ingest("The harbour master of Rodabu is called Tobias Wren.", tags=("a",))
    api.ingest("The harbour master of Rodabu is called Maren Holt.", tags=("b",))
    answer = api.answer("Who is the harbour master of Rodabu?", tag=["A", "unused"])
    assert {c["document_id"] for c in answer["citations"]} == {wren.document_id}
    assert api.answer("Who is the harbour master of Rodabu?", tag="unused")["abstained"]


def test_a_replaced_document_is_cited_in_its_new_version(api: Api) -> None:
    api.ingest("The harbour master of Rodabu is called Tobias Wren.", source_uri="note:1")
    api.ingest("The harbour master of Rodabu is called Maren Holt.", source_uri="note:1")
    answer = api.answer("Who is the harbour master of Rodabu?")
    assert "Holt" in answer["answer"]
    assert "Wren" not in answer["answer"]


@pytest.mark.parametrize(
    "params",
    [
        {"q": ""},
        {"q": "   "},
        {"k": "many"},
        {"k": "1.5"},
        {"k": "0"},
        {"eval": "perhaps"},
        {"collection": "1 bad/name"},
        {"lm": "absent"},
        {"q": "who\x00"},
    ],
)
def test_a_bad_parameter_is_400(api: Api, params: dict[str, str]) -> None:
    response = api.get("/answer", {"q": "Who is it?", **params})
    assert response.status_code == 400
    assert response.json()["error"] == "invalid_input"


def test_k_is_capped_at_50(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    assert api.answer(k=100_000)["answer"]


def test_eval_measures_the_retrieval(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    answer = api.answer(eval="true", gold=[stored.chunk_ids[0], "unknown"])
    assert answer["evaluation"]["hit_rate_at_k"] == 1.0
    assert 0 <= answer["evaluation"]["mean_score_topk"] <= answer["evaluation"]["mean_score_top1"]
    assert api.answer(eval="true", gold=["unknown"])["evaluation"]["hit_rate_at_k"] == 0.0
    assert "evaluation" not in api.answer()


def test_debug_shows_the_steps_in_dev_only(api: Api, settings: Any) -> None:
    api.ingest(LIGHTHOUSE)
    settings.IS_DEV = True
    names = [step["name"] for step in api.answer()["debug"]["steps"]]
    assert names == ["parse", "retrieve", "rerank", "read", "answer", "cite"]
    settings.IS_DEV = False
    assert api.answer()["debug"]["steps"] == []
