"""What a conversation sent to /v1 asks, and what it is read with."""

from typing import Any

import pytest

from qa.api.openai.replies import annotate, read_conversation
from qa.notices import GREETING, NOTHING_NEAR, UNNAMED
from qa.types import Exchange
from tests.support.documents import UNSURE_ANSWER, record_of

TALL = "How tall is the lighthouse at Bavoke?"


def says(role: str, content: str | None) -> dict[str, Any]:
    return {"role": role, "content": content}


def test_the_last_user_message_is_the_question_and_the_others_are_history() -> None:
    messages = [
        says("system", "Be brief."),
        says("user", TALL),
        says("assistant", "It is 31 metres tall. [1]"),
        says("user", "And who built it?"),
        says("assistant", NOTHING_NEAR),
        says("user", "Where is it?"),
        says("assistant", "The reply to be gone on with."),
    ]
    assert read_conversation(messages) == (
        "Where is it?",
        [
            Exchange(TALL, TALL, "It is 31 metres tall. [1]"),
            Exchange("And who built it?", "Who built the lighthouse at Bavoke?", ""),
        ],
    )


UNSURE_REPLY = "".join(part.text for part in annotate(record_of(UNSURE_ANSWER)))


@pytest.mark.parametrize(
    "reply",
    [NOTHING_NEAR, GREETING, UNNAMED, UNSURE_REPLY, "Nothing in your documents is about this."],
)
def test_a_reply_that_claims_nothing_is_no_answer(reply: str) -> None:
    messages = [says("user", TALL), says("assistant", reply), says("user", "And who built it?")]
    assert read_conversation(messages) == ("And who built it?", [Exchange(TALL, TALL, "")])


def test_the_list_of_sources_is_no_part_of_an_answer() -> None:
    reply = "It is 40 m high. [1]\n\nSources:\n- [1] Towers, https://coast.example/bavoke"
    messages = [says("user", TALL), says("assistant", reply), says("user", "And who built it?")]
    _, (past,) = read_conversation(messages)
    assert past.answer == "It is 40 m high. [1]"


def test_three_exchanges_keep_a_topic_that_came_before_them() -> None:
    follow_ups = ["And who built it?", "And when?", "And why?"]
    messages = [says("user", each) for each in [TALL, *follow_ups, "And for whom?"]]
    _, history = read_conversation(messages)
    assert [past.question for past in history] == follow_ups
    assert "lighthouse at Bavoke" in history[-1].searched


def test_what_says_nothing_or_too_much_is_left_out() -> None:
    messages = [
        says("user", TALL),
        says("assistant", "word " * 400_000),
        says("user", "it " * 400_000),
        says("user", None),
        says("user", "And who built it?"),
    ]
    _, (past,) = read_conversation(messages)
    assert past.question == TALL
    assert past.answer.startswith("word ")
    assert len(past.answer) == 2_000
