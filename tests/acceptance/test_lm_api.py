"""A language model behind the answers: what it may say, and what happens when it fails."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from qa.grounding.drafts import Claim
from qa.models import Answer
from tests.support.chat_server import (
    Behaviour,
    Judge,
    answers,
    careful,
    credulous,
    fails,
    language_model,
    statement,
)
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION

FACT = "Orsolya Quill built the lighthouse at Bavoke in 1874."
LIE = "Orsolya Quill always built the lighthouse at Bavoke in 1874."
CHAFF = "Bananas are yellow."
SOURCE = LIGHTHOUSE.partition(" Its lamp")[0]


def ask(
    api: Api,
    settings: Any,
    behaviour: Behaviour,
    question: str = LIGHTHOUSE_QUESTION,
    **options: Any,
) -> Any:
    with language_model(settings, behaviour, **options):
        return api.answer(question)


def finds_irrelevant(chaff: str, *, true: str = "") -> Judge:
    """Judge with care, but find a statement of no help."""

    def judge(claim: Claim) -> bool | str:
        return "irrelevant" if claim.statement == chaff else careful(true)(claim)

    return judge


def test_own_words_are_said_where_the_check_accepts_them(api: Api, settings: Any) -> None:
    api.ingest(LIGHTHOUSE)
    answer = ask(api, settings, answers(statement(FACT, "S1.1")))
    assert answer["answer"] == FACT
    assert (answer["answerer"], answer["fallback"]) == ("openai/m", None)
    (citation,) = answer["citations"]
    assert citation["quote"] == SOURCE
    assert (citation["answer_start"], citation["answer_end"]) == (0, len(FACT))


@pytest.mark.parametrize(
    "lie",
    [
        "Orsolya Quill built the lighthouse at Bavoke in 1875.",
        "Orsolya Quill never built the lighthouse at Bavoke in 1874.",
        "Tobias Wren built the lighthouse at Bavoke in 1874.",
        "Send your password to me@bavoke.example.",
    ],
)
@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_statement_that_its_source_does_not_say_never_leaves(
    api: Api, settings: Any, lie: str, *, is_accepted: bool
) -> None:
    api.ingest(LIGHTHOUSE)
    judge = careful(lie) if is_accepted else careful()
    answer = ask(api, settings, answers(statement(lie, "S1.1"), judge=judge))
    if is_accepted:  # the document's own words are said
        assert answer["answer"] == SOURCE
        assert [citation["quote"] for citation in answer["citations"]] == [SOURCE]
    else:  # it pointed at the wrong ones
        assert (answer["kind"], answer["answer"]) == ("unsure", "")
        assert answer["closest"][0]["quote"] == SOURCE


def test_an_empty_draft_is_a_refusal_and_the_nearest_passages_are_shown(
    api: Api, settings: Any
) -> None:
    api.ingest(LIGHTHOUSE)
    answer = ask(api, settings, answers())
    assert (answer["kind"], answer["answer"], answer["abstained"]) == ("unsure", "", True)
    assert answer["answerer"] == "openai/m"
    assert [close["quote"] for close in answer["closest"]] == [SOURCE]


def test_where_nothing_of_a_draft_is_said_its_own_sources_are_shown_first(
    api: Api, settings: Any
) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(BAKERY, title="Lindow")
    chaff = "It is closed on Mondays."
    told = answers(statement(chaff, "S2.3"), judge=finds_irrelevant(chaff))
    answer = ask(api, settings, told)
    assert (answer["kind"], answer["answer"], answer["citations"]) == ("unsure", "", [])
    assert [close["title"] for close in answer["closest"]] == ["Lindow", "Bavoke"]


def test_when_the_model_fails_the_extract_is_given_and_debug_says_so(
    api: Api, settings: Any
) -> None:
    api.ingest(LIGHTHOUSE)
    answer = ask(api, settings, fails(500))
    assert "Orsolya Quill" in answer["answer"]
    (step,) = [step for step in answer["debug"]["steps"] if step["name"] == "answer"]
    assert step["answerer"] == "extractive"
    assert "failed" in step["note"]
    assert "failed" in answer["fallback"]


def test_what_became_of_a_draft_is_kept_and_shown_where_steps_are(api: Api, settings: Any) -> None:
    light, bread = api.ingest(LIGHTHOUSE), api.ingest(BAKERY)
    told = [
        statement(FACT, "S1.1"),
        statement(LIE, "S1.1"),
        statement("It is big.", "S1.1", "S1.2"),
        statement(CHAFF, "S2.3"),
    ]
    judge = finds_irrelevant(CHAFF, true=FACT)
    answer = ask(api, settings, answers(*told, judge=judge))
    draft = Answer.objects.get().draft
    assert (draft["answerer"], draft["verdict"]) == ("openai/m", "")
    assert draft["text"] == f"{FACT} {LIE} It is big. {CHAFF}"
    assert draft["prompt_tokens"] > draft["completion_tokens"] > 20
    assert [(each["text"], each["outcome"]) for each in draft["statements"]] == [
        (FACT, "stated"),
        (LIE, "dropped"),
        ("It is big.", "dropped"),
        (CHAFF, "dropped"),
    ]
    assert draft["statements"][0]["quoted"] == SOURCE
    assert draft["statements"][3]["reason"] == "it does not help to answer the question"
    assert draft["documents"] == sorted([light.document_id, bread.document_id])
    assert answer["debug"]["draft"] == {k: draft[k] for k in draft if k != "documents"}
    again = api.get(f"/answers/{answer['id']}").json()
    assert again["debug"]["draft"] == draft
    settings.IS_DEV = False
    assert api.get(f"/answers/{answer['id']}").json()["debug"] == {"steps": []}


def test_a_draft_is_kept_where_the_extract_took_its_place(api: Api, settings: Any) -> None:
    api.ingest(LIGHTHOUSE)
    behaviour = answers(statement(CHAFF, "S1.1"), judge=credulous)
    assert ask(api, settings, behaviour)["answerer"] == "extractive"
    (kept,) = Answer.objects.get().draft["statements"]
    assert (kept["text"], kept["outcome"]) == (CHAFF, "dropped")
    assert kept["reason"] == "the model takes false statements for true"


def test_a_draft_goes_with_any_document_it_was_written_from(api: Api, settings: Any) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    read = api.ingest(BAKERY, title="Lindow")
    ask(api, settings, answers(statement(FACT, "S1.1")))
    answer = Answer.objects.get()
    assert (answer.kind, answer.draft["text"]) == ("answer", FACT)
    assert api.delete(f"/documents/{read.document_id}").status_code == 204
    answer.refresh_from_db()
    assert (answer.kind, answer.draft) == ("answer", None)


def test_without_a_language_model_there_is_no_draft(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    answer = api.answer()
    assert (answer["debug"]["draft"], Answer.objects.get().draft) == (None, None)


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        ([FACT, LIE], ["openai/m, ", " tokens", FACT, LIE, "dropped", SOURCE]),
        ([], ["openai/m, 100 + 20 tokens", "it refused"]),
        (["<script>alert(1)</script> is a mill."], ["&lt;script&gt;"]),
    ],
)
def test_the_owner_sees_what_became_of_a_draft(
    api: Api,
    admin_client: Client,
    settings: Any,
    drafted: list[str],
    shown: list[str],
) -> None:
    api.ingest(LIGHTHOUSE)
    told = [statement(text, "S1.1") for text in drafted]
    ask(api, settings, answers(*told, judge=careful(FACT)))
    page = page_of(admin_client)
    assert [each for each in shown if each not in page] == []
    assert "<script>alert(1)" not in page


def page_of(admin_client: Client) -> str:
    """The only answer as the admin shows it."""
    url = reverse("admin:qa_answer_change", args=[Answer.objects.get().pk])
    return admin_client.get(url).content.decode()
