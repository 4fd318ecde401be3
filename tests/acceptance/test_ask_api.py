"""POST /ask and /ask-selected, stored answers and feedback, as scripts use them."""

from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from qa.models import Answer, Feedback, Message, Session
from qa.notices import NOT_REWORDED, NOT_SHORTER
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE

SELECTED = "The harbour master of Rodabu is called Maren Holt.  She took office in 1990."
HARBOUR_QUESTION = "Who is the harbour master of Rodabu?"


def searched(asked: Any) -> str:
    (step,) = [step for step in asked["debug"]["steps"] if step["name"] == "parse"]
    return str(step["searched"])


@pytest.mark.bare_models
def test_a_reply_is_the_answer_object_with_its_sources(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke", source_uri="https://example.org/coast/bavoke.html")
    api.ingest(BAKERY)
    asked = api.ask()
    assert "Orsolya Quill" in asked["answer"]
    (source,) = asked["sources"]
    assert source["file"] == "bavoke.html"
    assert source["chunk"] == LIGHTHOUSE[:200]
    assert 0 < source["similarity"] <= 1
    assert asked["latency_ms"] > 0
    assert Session.objects.filter(pk=asked["session_id"]).exists()


def test_an_abstention_has_no_sources(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    asked = api.ask("Which colour does the number seven eat on Thursdays?")
    assert (asked["abstained"], asked["sources"], asked["citations"]) == (True, [], [])


def test_a_follow_up_is_searched_with_its_topic_and_stored_as_asked(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    api.ingest("The church at Olmen is fifty metres tall and was built of red brick in 1690.")
    session_id = api.ask()["session_id"]
    follow_up = "And how many steps does its keeper climb?"
    asked = api.ask(follow_up, session_id=session_id)
    assert asked["session_id"] == session_id
    assert "212 steps" in asked["answer"]
    assert searched(asked) == "How many steps does the lighthouse at Bavoke's keeper climb?"
    assert asked["question"] == follow_up
    assert Answer.objects.get(pk=asked["id"]).question == follow_up


def test_a_follow_up_is_answered_from_the_documents_quoted_last(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    api.ingest("The second keeper of the church at Olmen rings its bell at noon.")
    session_id = api.ask()["session_id"]
    asked = api.ask("And the second keeper?", session_id=session_id)
    assert "writes the weather" in asked["answer"]
    assert "Olmen" not in asked["answer"]


def test_the_last_answer_is_not_repeated_for_a_new_subject(api: Api) -> None:
    api.ingest(
        "New parents at Umlet are entitled to up to 69 weeks of unpaid parental leave. "
        "Employees are asked to write to the office ten days before it begins.",
        title="Leave at Umlet",
    )
    first = api.ask("How many weeks of unpaid parental leave do new parents at Umlet get?")
    asked = api.ask("and in Rodabu?", session_id=first["session_id"])
    assert "69 weeks" in first["answer"]
    assert (asked["answer"], asked["kind"]) == ("", "unsure")
    assert "69 weeks" in asked["closest"][0]["quote"]


def test_a_disagreement_is_told_in_a_follow_up_too(api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke")
    api.ingest(LIGHTHOUSE.replace("Orsolya Quill", "Tamas Berg"), title="Coast")
    first = api.ask()
    asked = api.ask("And who built it, did you say?", session_id=first["session_id"])
    assert first["disagreement"]
    assert [each["title"] for each in asked["disagreement"]] == [
        each["title"] for each in first["disagreement"]
    ]


def test_a_follow_up_may_be_one_short_word(api: Api, settings: Any) -> None:
    api.ingest(LIGHTHOUSE)
    session_id = api.ask()["session_id"]
    assert searched(api.ask("why?", session_id=session_id)) == "why (the lighthouse at Bavoke)?"
    for other in (str(uuid4()), None):
        assert api.post("/ask", {"question": "why?", "session_id": other}).status_code == 400
    long_ago = timezone.now() - timedelta(minutes=settings.PKB_SESSION_MINUTES + 1)
    Session.objects.filter(pk=session_id).update(last_used_at=long_ago)
    assert api.post("/ask", {"question": "why?", "session_id": session_id}).status_code == 400


def test_an_answer_is_shortened_to_the_words_that_answer(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    first = api.ask()
    asked = api.ask("Can you shorten that?", session_id=first["session_id"])
    assert asked["answer"] == first["short"]
    (citation,) = asked["citations"]
    assert (citation["quote"], citation["document_id"]) == (
        first["short"],
        first["citations"][0]["document_id"],
    )
    again = api.ask("Shorter", session_id=first["session_id"])
    assert (again["answer"], again["notice"]) == ("", NOT_SHORTER)


def test_an_answer_cannot_be_reworded_without_a_model(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    session_id = api.ask()["session_id"]
    asked = api.ask("Translate it into German", session_id=session_id)
    assert (asked["kind"], asked["notice"]) == ("abstained", NOT_REWORDED)
    assert not Answer.objects.unanswered().exists()


def test_only_the_last_three_exchanges_are_context(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    session_id = api.ask()["session_id"]
    for name in ("first", "second", "third"):
        api.ask(f"Which green parrot came {name} to Rodabu?", session_id=session_id)
    assert "lighthouse" not in searched(api.ask("How tall is it?", session_id=session_id))


def test_an_expired_session_is_gone(api: Api, settings: Any) -> None:
    api.ingest(LIGHTHOUSE)
    session_id = api.ask()["session_id"]
    settings.PKB_SESSION_MINUTES = 30
    long_ago = timezone.now() - timedelta(minutes=31)
    Session.objects.filter(pk=session_id).update(last_used_at=long_ago)
    asked = api.ask("How tall is it?", session_id=session_id)
    assert searched(asked) == "How tall is it?"
    assert asked["session_id"] == session_id
    assert Message.objects.filter(session=session_id).count() == 1


def test_an_unknown_session_id_begins_a_session_of_that_id(api: Api) -> None:
    session_id = str(uuid4())
    assert api.ask(session_id=session_id)["session_id"] == session_id


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": "Who?"},
        {"question": "q" * 2001},
        {"question": "blanks count" + " " * 1989},
        {"question": None},
        {"session_id": "abc"},
        {"session_id": 5},
        {"collection": "1 bad/name"},
        {"stream": "perhaps"},
        {"selected_text": "s" * 5001},
        {"selected_text": "a\x00b"},
    ],
    ids=lambda wrong: f"{next(iter(wrong))} {str(next(iter(wrong.values())))[:8]!r}",
)
def test_a_bad_question_is_400_and_begins_no_session(api: Api, wrong: dict[str, Any]) -> None:
    response = api.post("/ask", {"question": "Who is it?", **wrong})
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == list(wrong)
    assert not Session.objects.exists()


def test_the_selected_text_is_answered_from_first(api: Api) -> None:
    api.ingest("The harbour master of Rodabu is called Tobias Wren.")
    asked = api.ask(HARBOUR_QUESTION, selected_text=f"  {SELECTED}")
    (citation,) = asked["citations"]
    assert citation["selected"] is True
    assert (citation["chunk_id"], citation["document_id"]) == (None, None)
    sent = f"  {SELECTED}"
    assert sent[citation["start_char"] : citation["end_char"]] == citation["quote"]
    assert citation["content_sha256"] == sha256(sent.encode()).hexdigest()
    assert "Maren Holt" in asked["answer"]
    assert asked["sources"][0]["file"] == "selected text"
    stored = api.get(f"/answers/{asked['id']}").json()["citations"]
    assert [(c["quote"], c["state"]) for c in stored] == [(citation["quote"], "current")]


def test_the_corpus_answers_what_the_selection_does_not(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    asked = api.ask(selected_text=SELECTED)
    assert {c["document_id"] for c in asked["citations"]} == {stored.document_id}
    assert not any(c["selected"] for c in asked["citations"])
    assert asked["debug"]["steps"][0]["name"] == "selected.parse"


def test_the_end_of_a_long_selection_is_read(api: Api) -> None:
    filler = "The granary stores barley with oak beams in year 1700. " * 80
    asked = api.ask(HARBOUR_QUESTION, selected_text=f"{filler}{SELECTED}")
    assert "Maren Holt" in asked["answer"]


def test_selected_text_is_required_on_its_door(api: Api) -> None:
    response = api.post("/ask-selected", {"question": "Who is it?"})
    assert response.status_code == 400


def test_a_stored_answer_is_as_it_was_given(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    asked = api.ask()
    stored = api.get(f"/answers/{asked['id']}").json()
    for name in ("id", "question", "answer", "abstained", "confidence"):
        assert stored[name] == asked[name]
    for kept, given in zip(stored["citations"], asked["citations"], strict=True):
        assert kept == given | {"state": "current"}


def test_a_citation_is_stale_once_its_quote_stands_there_no_more(api: Api) -> None:
    api.ingest(LIGHTHOUSE, source_uri="note:1")
    answer_id = api.ask()["id"]
    for text, state in (
        (f"{LIGHTHOUSE} It was painted white.", "current"),
        (f"Once: {LIGHTHOUSE}", "stale"),
    ):
        api.ingest(text, source_uri="note:1")
        (citation,) = api.get(f"/answers/{answer_id}").json()["citations"]
        assert (citation["state"], citation["quote"] != "") == (state, True)


def give_feedback(api: Api, answer_id: object, **body: Any) -> Any:
    return api.post(f"/answers/{answer_id}/feedback", body)


def test_feedback_waits_for_a_review(api: Api) -> None:
    answer_id = api.ask()["id"]
    response = give_feedback(api, answer_id, rating="down", comment="Not what I asked.")
    assert response.status_code == 201
    (waiting,) = Feedback.objects.to_review()
    assert (str(waiting.pk), str(waiting.answer_id)) == (response.json()["id"], answer_id)
    assert (waiting.rating, waiting.comment) == ("down", "Not what I asked.")


@pytest.mark.parametrize("body", [{}, {"rating": "sideways"}, {"rating": 1}, {"rating": None}])
def test_bad_feedback_is_400(api: Api, body: dict[str, Any]) -> None:
    assert give_feedback(api, api.ask()["id"], **body).status_code == 400
    assert not Feedback.objects.exists()


def test_an_unknown_answer_is_404(api: Api) -> None:
    assert api.get(f"/answers/{uuid4()}").status_code == 404
    assert give_feedback(api, uuid4(), rating="up").status_code == 404


def passage_of(quoted: dict[str, Any], document_id: str) -> dict[str, Any]:
    """A span that an answer shows, as feedback names it."""
    span = {name: quoted[name] for name in ("start_char", "end_char")}
    return {"document_id": document_id, **span}


def test_feedback_marks_what_its_answer_cites(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    answer = api.ask()
    (cited, *_) = answer["citations"]
    passage = passage_of(cited, cited["document_id"])
    response = give_feedback(api, answer["id"], rating="up", passage=passage)
    assert (response.status_code, response.json()["passage"]) == (201, passage)
    assert Feedback.objects.get().content_sha256 == cited["content_sha256"]
    assert give_feedback(api, answer["id"], rating="up").json()["passage"] is None


def test_feedback_marks_a_close_passage_or_its_likeliest_words(api: Api, settings: Any) -> None:
    settings.PKB_ANSWER_FROM = 1.0
    api.ingest(LIGHTHOUSE)
    answer = api.ask()
    (close,) = answer["closest"]
    assert close["passage"]["text"] == LIGHTHOUSE
    assert close["quote"] != LIGHTHOUSE
    for shown in (close, close["passage"]):
        passage = passage_of(shown, close["document_id"])
        response = give_feedback(api, answer["id"], rating="up", passage=passage)
        assert (response.status_code, response.json()["passage"]) == (201, passage)


@pytest.mark.parametrize(
    "change",
    [
        {"start_char": 1},
        {"document_id": "22222222-2222-4222-8222-222222222222"},
        {"end_char": 2**40},
        {"end_char": None},
    ],
)
def test_a_passage_that_the_answer_does_not_show_is_400(api: Api, change: dict[str, Any]) -> None:
    api.ingest(LIGHTHOUSE)
    answer = api.ask()
    (cited, *_) = answer["citations"]
    passage = {**passage_of(cited, cited["document_id"]), **change}
    response = give_feedback(api, answer["id"], rating="up", passage=passage)
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"].startswith("passage")
    assert not Feedback.objects.exists()


@pytest.mark.parametrize(("action", "accepted"), [("accept", 1), ("dismiss", 0)])
def test_feedback_is_reviewed_in_the_admin(
    api: Api, admin_client: Any, action: str, accepted: int
) -> None:
    feedback_id = give_feedback(api, api.ask()["id"], rating="up").json()["id"]
    assert User.objects.filter(is_superuser=True).exists()
    chosen = {"action": action, "_selected_action": [feedback_id]}
    page = admin_client.post("/admin/qa/feedback/", chosen, follow=True)
    assert page.status_code == 200
    assert not Feedback.objects.to_review().exists()
    assert Feedback.objects.filter(review="accepted").count() == accepted
    assert Feedback.objects.get().reviewed_at is not None


def test_the_admin_shows_sessions(api: Api, admin_client: Any) -> None:
    session_id = api.ask()["session_id"]
    for path in ("", f"{session_id}/change/"):
        page = admin_client.get(f"/admin/qa/session/{path}")
        assert page.status_code == 200
        assert session_id in page.content.decode()
