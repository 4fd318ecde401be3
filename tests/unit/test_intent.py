"""What a question asks for, by its words."""

import pytest

from qa.intent import Intent, IntentKind, classify


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Hello!", IntentKind.GREETING),
        ("Which documents mention the port?", IntentKind.MENTIONS),
        ("Summarise everything", IntentKind.OVERVIEW),
        ("Summarise the fire manual", IntentKind.SUMMARY),
        ("What is the port? Who owns the mill?", IntentKind.PARTS),
        ("Compare rye and oats", IntentKind.COMPARISON),
        ("What is the port?", IntentKind.QUESTION),
        ("", IntentKind.QUESTION),
    ],
)
def test_a_question_has_the_intent_that_its_words_tell(question: str, kind: IntentKind) -> None:
    assert classify(question).kind is kind


def test_of_documents_that_mention_something_that_is_searched_for() -> None:
    assert classify("Which documents mention the port?") == Intent(IntentKind.MENTIONS, "the port")


def test_a_summary_has_the_name_of_its_document() -> None:
    question = "Summarise the fire manual"
    assert classify(question) == Intent(IntentKind.SUMMARY, question, names=("the fire manual",))


def test_several_questions_are_parts() -> None:
    question = "What is the port? Who owns the mill?"
    parts = ("What is the port?", "Who owns the mill?")
    assert classify(question) == Intent(IntentKind.PARTS, question, parts=parts)


def test_a_comparison_has_its_sides_and_a_question_for_each() -> None:
    found = classify("What is the difference between rye and oats?")
    assert (found.kind, found.names) == (IntentKind.COMPARISON, ("rye", "oats"))
    assert len(found.parts) == len(found.names)
    assert all(name in part for name, part in zip(found.names, found.parts, strict=True))


@pytest.mark.parametrize(
    ("question", "wants_list"),
    [
        ("What are the kinds of grain?", True),
        ("What are the kinds of grain? What are the names of the mills?", True),
        ("What is the kind of grain?", False),
    ],
)
def test_a_question_for_several_things_wants_a_list(question: str, wants_list: bool) -> None:
    assert classify(question).wants_list is wants_list
