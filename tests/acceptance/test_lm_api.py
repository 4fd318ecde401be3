"""A language model behind the answers: what it may say, and what happens when it fails."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from qa.models import Answer
from tests.contracts.chat_server import Call, ChatServer, chat_server, hang
from tests.factories import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest

pytestmark = pytest.mark.django_db


def says(answer: str, citations: list[str]) -> Callable[[Call], None]:
    """A server whose model always gives this answer."""
    drafted = {"answer": answer, "citations": citations}

    def reply(call: Call) -> None:
        message = {"role": "assistant", "content": json.dumps(drafted)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        body = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
        call.send(
            200, json.dumps(body | {"usage": usage}), headers={"Content-Type": "application/json"}
        )

    return reply


def fails(call: Call) -> None:
    call.send(500, "{}")


def ask(api: APIClient, settings: Any, behaviour: Callable[[Call], None], **options: Any) -> Any:
    with chat_server(behaviour) as server:
        configure(settings, server, **options)
        return api.get("/answer", {"q": LIGHTHOUSE_QUESTION}).json()


def configure(settings: Any, server: ChatServer, **options: Any) -> None:
    """Have answers written by the model of this server."""
    settings.PKB_ANSWERERS = {
        **settings.PKB_ANSWERERS,
        "default": {
            "BACKEND": "qa.answerers.dspy_program.LMAnswerer",
            "OPTIONS": {
                "model": "openai/test",
                "api_base": f"{server.root}/v1",
                "api_key": "sk-x",
                "timeout_s": 10.0,
                **options,
            },
        },
    }


def test_a_supported_sentence_is_said_and_quoted(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    ingest(LIGHTHOUSE)
    said = "Orsolya Quill built the lighthouse at Bavoke in 1874."
    answer = ask(api, settings, says(said, ["S1"]))
    assert answer["answer"] == said
    (citation,) = answer["citations"]
    assert citation["quote"] in LIGHTHOUSE
    assert citation["quote"] != said


@pytest.mark.parametrize(
    "lie",
    [
        "Orsolya Quill built the lighthouse at Bavoke in 1875.",
        "Orsolya Quill never built the lighthouse at Bavoke in 1874.",
        "Tobias Wren built the lighthouse at Bavoke in 1874.",
        "Send your password to the address in the document.",
    ],
)
def test_an_unsupported_sentence_never_leaves(
    api: APIClient, ingest: Ingest, settings: Any, lie: str
) -> None:
    ingest(LIGHTHOUSE)
    answer = ask(api, settings, says(lie, ["S1"]))
    assert lie not in answer["answer"]
    # What the document says instead is said, in its words.
    assert all(citation["quote"] in LIGHTHOUSE for citation in answer["citations"])
    assert "Orsolya Quill" in answer["answer"]


def test_of_a_draft_without_a_true_word_the_extract_is_left(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    ingest(LIGHTHOUSE)
    answer = ask(api, settings, says("Bananas are yellow and grow in Ecuador.", ["S1"]))
    assert "Orsolya Quill" in answer["answer"]
    assert (answer["kind"], answer["answerer"]) == ("answer", "extractive")
    assert "openai/test" in answer["fallback"]


def test_who_wrote_an_answer_is_said(api: APIClient, ingest: Ingest, settings: Any) -> None:
    ingest(LIGHTHOUSE)
    answer = ask(api, settings, says(LIGHTHOUSE.split(". ")[0] + ".", ["S1"]))
    assert (answer["answerer"], answer["fallback"]) == ("openai/test", None)


def test_an_empty_draft_is_a_refusal(api: APIClient, ingest: Ingest, settings: Any) -> None:
    ingest(LIGHTHOUSE)
    answer = ask(api, settings, says("", []))
    assert (answer["kind"], answer["answer"], answer["abstained"]) == ("abstained", "", True)


def test_when_the_model_fails_the_extract_is_given_and_debug_says_so(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    ingest(LIGHTHOUSE)
    answer = ask(api, settings, fails)
    assert "Orsolya Quill" in answer["answer"]
    (step,) = [step for step in answer["debug"]["steps"] if step["name"] == "answer"]
    assert step["answerer"] == "extractive"
    assert "failed" in step["note"]
    assert "failed" in answer["fallback"]


def test_for_a_model_that_did_not_answer_in_time_nobody_waits_again(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    ingest(LIGHTHOUSE)
    with chat_server(hang) as server:
        configure(settings, server, timeout_s=0.5)
        first, second = (api.get("/answer", {"q": LIGHTHOUSE_QUESTION}).json() for _ in range(2))
        assert len(server.calls) == 1
    assert "did not answer in time" in first["fallback"]
    assert "is not asked for" in second["fallback"]
    assert second["answer"] == first["answer"] != ""


FACT = "Orsolya Quill built the lighthouse at Bavoke in 1874."
LIE = "Orsolya Quill always built the lighthouse at Bavoke in 1874."
CHAFF = "Bananas are yellow."


def test_what_became_of_a_draft_is_kept_and_shown_where_steps_are(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    stored = ingest(LIGHTHOUSE)
    answer = ask(api, settings, says(f"{FACT} {LIE} {CHAFF}", ["S1"]))
    draft = Answer.objects.get().draft
    assert (draft["answerer"], draft["text"]) == ("openai/test", f"{FACT} {LIE} {CHAFF}")
    assert (draft["cited"], draft["prompt_tokens"], draft["completion_tokens"]) == (["S1"], 11, 7)
    assert [(each["text"], each["outcome"]) for each in draft["sentences"]] == [
        (FACT, "restated"),
        (LIE, "replaced"),
        (CHAFF, "dropped"),
    ]
    assert draft["sentences"][1]["reason"] == "not in the source: always"
    assert draft["documents"] == [stored.document_id]
    assert answer["debug"]["draft"] == {k: draft[k] for k in draft if k != "documents"}
    again = api.get(f"/answers/{answer['id']}").json()
    assert again["debug"]["draft"] == draft
    settings.IS_DEV = False
    assert api.get(f"/answers/{answer['id']}").json()["debug"] == {"steps": []}


def test_a_draft_is_kept_where_the_extract_took_its_place(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    ingest(LIGHTHOUSE)
    assert ask(api, settings, says(CHAFF, ["S1"]))["answerer"] == "extractive"
    (sentence,) = Answer.objects.get().draft["sentences"]
    assert (sentence["text"], sentence["outcome"]) == (CHAFF, "dropped")


def test_a_draft_goes_with_any_document_it_was_written_from(
    api: APIClient, ingest: Ingest, settings: Any
) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    read = ingest(BAKERY, title="Lindow")
    ask(api, settings, says(CHAFF, ["S2"]))
    answer = Answer.objects.get()
    assert (answer.kind, answer.draft["text"]) == ("answer", CHAFF)
    assert api.delete(f"/documents/{read.document_id}").status_code == 204
    answer.refresh_from_db()
    assert (answer.kind, answer.draft) == ("answer", None)


def test_without_a_language_model_there_is_no_draft(api: APIClient, ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    answer = api.get("/answer", {"q": LIGHTHOUSE_QUESTION}).json()
    assert (answer["debug"]["draft"], Answer.objects.get().draft) == (None, None)


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        (f"{FACT} {LIE}", ["openai/test, cites S1, 11 + 7 tokens", FACT, LIE, "always"]),
        ("", ["openai/test, cites nothing", "it refused"]),
        ("<script>alert(1)</script> is a mill.", ["&lt;script&gt;"]),
    ],
)
def test_the_owner_sees_what_became_of_a_draft(
    api: APIClient,
    admin_client: Client,
    ingest: Ingest,
    settings: Any,
    drafted: str,
    shown: list[str],
) -> None:
    ingest(LIGHTHOUSE)
    ask(api, settings, says(drafted, ["S1"] if drafted else []))
    url = reverse("admin:qa_answer_change", args=[Answer.objects.get().pk])
    page = admin_client.get(url).content.decode()
    assert [each for each in shown if each not in page] == []
    assert "<script>alert(1)" not in page
