"""A language model behind the answers: what it may say, and what happens when it fails."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.contracts.chat_server import Call, chat_server
from tests.factories import LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest

pytestmark = pytest.mark.django_db


def says(answer: str, citations: list[str]) -> Callable[[Call], None]:
    """A server whose model always gives this answer."""
    drafted = {"answer": answer, "citations": citations, "confidence": 0.9}

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


def ask(api: APIClient, settings: Any, behaviour: Callable[[Call], None]) -> Any:
    with chat_server(behaviour) as server:
        settings.PKB_ANSWERERS = {
            **settings.PKB_ANSWERERS,
            "default": {
                "BACKEND": "qa.answerers.dspy_program.LMAnswerer",
                "OPTIONS": {
                    "model": "openai/test",
                    "api_base": f"{server.root}/v1",
                    "api_key": "sk-x",
                    "timeout_s": 10.0,
                },
            },
        }
        return api.get("/answer", {"q": LIGHTHOUSE_QUESTION}).json()


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
