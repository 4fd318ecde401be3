"""Which questions refer back, and what they become."""

import pytest

from qa.questions import complete_follow_up, find_topic, is_follow_up
from qa.types import Exchange

ASKED = "Who built the lighthouse at Bavoke?"
HISTORY = [Exchange(ASKED, ASKED, "Orsolya Quill built it.")]

COMPLETED = {
    "How tall is it?": "How tall is the lighthouse at Bavoke?",
    "and how long does it take?": "How long does the lighthouse at Bavoke take?",
    "What about its lamp?": "What about the lighthouse at Bavoke's lamp?",
    "How many steps?": "How many steps (the lighthouse at Bavoke)?",
    "Why?": "Why (the lighthouse at Bavoke)?",
    "What is that?": "What is the lighthouse at Bavoke?",
    "And does this tower leak?": "does this tower leak (the lighthouse at Bavoke)?",
}
STANDING = [
    "Who built the bakery in Lindow?",
    "What is MLOps?",
    "Who is Orsolya Quill?",
    "How long does it take to deploy a model?",
    "Is it possible to retrain daily?",
    "Which tool that does tracing is recommended?",
    "So what is model drift and why does it matter?",
    "Is there a refund for late orders?",
    "Wie hoch ist der Turm?",
]


@pytest.mark.parametrize("question", COMPLETED)
def test_a_follow_up_gets_the_topic_of_the_last_question(question: str) -> None:
    assert complete_follow_up(question, HISTORY) == COMPLETED[question]


@pytest.mark.parametrize("question", STANDING)
def test_a_question_that_stands_on_its_own_stays(question: str) -> None:
    assert complete_follow_up(question, HISTORY) == question
    assert not is_follow_up(question)


def test_without_a_history_nothing_is_completed() -> None:
    assert complete_follow_up("How tall is it?", []) == "How tall is it?"


def test_the_topic_is_that_of_the_last_question_that_stood_on_its_own() -> None:
    history = [*HISTORY, Exchange("How tall is it?", "How tall is the lighthouse at Bavoke?", "")]
    assert "the lighthouse at Bavoke" in complete_follow_up("And who keeps it?", history)


def test_follow_ups_alone_still_have_a_topic() -> None:
    history = [Exchange("How tall is it?", "How tall is the lighthouse at Bavoke?", "")]
    assert "the lighthouse at Bavoke" in complete_follow_up("And who keeps it?", history)


def test_a_topic_that_is_named_is_not_put_in_again() -> None:
    question = "And how tall is the lighthouse at Bavoke?"
    assert complete_follow_up(question, HISTORY) == question


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Who built the lighthouse at Bavoke?", "the lighthouse at Bavoke"),
        ("How does canary deployment work?", "canary deployment work"),
        ("?", ""),
    ],
    ids=["noun phrase", "telling words", "nothing"],
)
def test_topics(question: str, topic: str) -> None:
    assert find_topic(question) == topic
