"""Questions by rule, from definitions and headings."""

import pytest

from corpus.ingestion.normal_form import Heading
from evaluation.question_rules import propose_from_rules, propose_from_topics
from qa.example_questions import as_question


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("A **ferry** is a boat that crosses.", "What is a ferry?", "a boat that crosses"),
        ("Embeddings are the numbers of a text.", "What are embeddings?", "the numbers of a text"),
        (
            "HNSW stands for small world, says it.",
            "What does HNSW stand for?",
            "small world, says it",
        ),
        (
            "Slow training means that it takes long.",
            "What does slow training mean?",
            "it takes long",
        ),
        ("An HNSW index is a graph with layers.", "What is an HNSW index?", "a graph with layers"),
    ],
    ids=["article", "plural", "abbreviation", "means", "name"],
)
def test_a_definition_becomes_a_question(sentence: str, question: str, answer: str) -> None:
    text = f"Something stands before it. {sentence} And after it."
    (proposal,) = propose_from_rules(text, headings=())
    assert (proposal.text, proposal.answers) == (question, (answer,))
    assert text[proposal.start_char : proposal.end_char] == sentence


@pytest.mark.parametrize(
    "text",
    [
        "It is a run that computes the past of a feature.",
        "This guide is a list of things that one should do.",
        "NullListener failure is the main reason for measuring things.",
        "The service is slow on Mondays and on Tuesdays as well.",
        "- A backfill is a run that computes the past of it.",
        "| A backfill is a run that computes the past of it |",
        "",
    ],
    ids=["pronoun", "this", "rank", "no-definition", "item", "row", "empty"],
)
def test_what_defines_nothing_gives_no_question(text: str) -> None:
    assert propose_from_rules(text, headings=()) == []


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("How to detect skew", "How can one detect skew?"),
        ("How often to check for drift", "How often should one check for drift?"),
        ("How large should it be", "How large should it be?"),
        ("Why averages mislead", None),
        ("Overview", None),
        ("How", None),
    ],
    ids=["how-to", "how-often", "inverted", "not-inverted", "noun", "bare"],
)
def test_a_heading_that_asks_is_answered_by_its_section(heading: str, question: str | None) -> None:
    sentence = "Compare both values once a day, on a sample."
    text = f"{heading}\n\n{sentence} Then wait."
    proposals = propose_from_rules(text, headings=(Heading(0, len(heading), 2, heading),))
    assert [proposal.text for proposal in proposals] == [question] * bool(question)
    for proposal in proposals:
        assert text[proposal.start_char : proposal.end_char] == sentence
        assert proposal.answers == ()


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("How do I change the default port?", "How do I change the default port?"),
        ("(1) How do I create a field?", "How do I create a field?"),
        ("1.1. How does chrony compare to ntpd?", "How does chrony compare to ntpd?"),
        ("G10. What is the best way to use it?", "What is the best way to use it?"),
        ("You have read the notes on upgrading, right?", ""),
        ("3. Why not?", ""),
        ("How it compares", ""),
    ],
)
def test_headings_that_ask_are_questions_without_their_number(heading: str, question: str) -> None:
    assert as_question(heading) == question


@pytest.mark.parametrize(
    ("heading", "section", "question", "answers", "statement"),
    [
        (
            "2.1 Sick leave", "Call before nine. You have ten working days a year for it. Rest.",
            "Sick leave in Staff guide: how many days?", ("ten working days",),
            "You have ten working days a year for it.",
        ),
        (
            "**Keys**", "The porter keeps all the keys. Ask him for yours in the morning.",
            "What does Staff guide say about Keys?", (),
            "The porter keeps all the keys. Ask him for yours in the morning.",
        ),
        ("Overview", "The porter keeps all the keys of the house.", None, (), ""),
        ("Staff guide", "The porter keeps all the keys of the house.", None, (), ""),
        ("Who keeps the keys?", "The porter keeps all the keys of the house.", None, (), ""),
        ("How to lose keys", "The porter keeps all the keys of the house.", None, (), ""),
        ("2026-03", "The porter keeps all the keys of the house.", None, (), ""),
        ("Keys", "All.", None, (), ""),
    ],
)  # fmt: skip
def test_a_section_is_asked_for_in_the_words_of_its_heading(
    heading: str, section: str, question: str | None, answers: tuple[str, ...], statement: str
) -> None:
    text = f"{heading}\n\n{section}"
    headings = (Heading(0, len(heading), 2, heading),)
    proposals = propose_from_topics(text, title="Staff guide", headings=headings)
    expected = [(question, answers)] if question else []
    assert [(each.text, each.answers) for each in proposals] == expected
    for each in proposals:
        assert text[each.start_char : each.end_char] == statement
