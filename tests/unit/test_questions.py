"""What of a question is meant to the letter."""

import pytest

from qa.questions import (
    MOST_PHRASES,
    MOST_SENTENCES,
    asks_for_several,
    find_phrases,
    find_sentences,
)


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("How long does a refund take?", ()),
        ('Where does it say "two signatures"?', ("two signatures",)),
        (
            "What is \u201cgreen book\u201d and \u00ablivre vert\u00bb?",
            ("green book", "livre vert"),
        ),
        ("What does ERR_404_TIMEOUT mean?", ("ERR_404_TIMEOUT",)),
        ("Is CVE-2024-1234 fixed in v2.13.0?", ("CVE-2024-1234", "v2.13.0")),
        ("Who calls read_lexical_query and getUserName?", ("read_lexical_query", "getUserName")),
        ("Ping 10.0.0.1 or sha256?", ("10.0.0.1", "sha256")),
        ("In 1874, for 3.5 metres, on 12:30?", ()),
        ('Nothing "" is quoted', ()),
    ],
    ids=[
        "plain",
        "quoted",
        "typographic",
        "code",
        "dashes",
        "names",
        "address",
        "numbers",
        "empty",
    ],
)
def test_quoted_phrases_and_identifiers_are_found(question: str, phrases: tuple[str, ...]) -> None:
    assert find_phrases(question) == phrases


def test_a_phrase_is_named_once() -> None:
    assert find_phrases('sha256 is "sha256"') == ("sha256",)


def test_the_first_phrases_are_enough() -> None:
    names = [f"a{number}" for number in range(MOST_PHRASES + 300)]
    assert find_phrases(" ".join(names)) == tuple(names[:MOST_PHRASES])


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        ("Who built the tower?", ()),
        ("Thanks! Who built the tower?", ()),
        (
            "i look for old towers. who built them, e.g. in Bavoke? see v1.2.",
            ("i look for old towers.", "who built them, e.g."),
        ),
        (
            "We had a storm; the lamp went out. Why?",
            ("We had a storm;", "the lamp went out."),
        ),
        ("", ()),
    ],
    ids=["one", "a greeting", "small letters", "semicolon", "empty"],
)
def test_a_question_of_several_sentences_is_cut(question: str, sentences: tuple[str, ...]) -> None:
    assert find_sentences(question) == sentences


def test_the_first_sentences_are_enough() -> None:
    text = " ".join(f"This is sentence {number}." for number in range(MOST_SENTENCES + 5))
    assert len(find_sentences(text)) == MOST_SENTENCES


@pytest.mark.parametrize(
    "question",
    [
        "What are the seven stages of the model lifecycle?",
        "What are the steps of indexing?",
        "what were the most common causes of skew",
        "What are common causes of skew?",
        "Which triggers start continuous training?",
        "Which data tests does the guide recommend?",
        "Which three things does MLOps add?",
        "What stages can a version have?",
        "What kinds of tests are there?",
        "What conditions make a rollback possible?",
        "In which cases is a store not needed?",
        "Who are the owners?",
        "List the ranges.",
        "Please list what is needed.",
        "Name the forms of quantization.",
        "Give me all steps.",
        "What two cities does it join?",
        "Which criteria are there?",
    ],
)
def test_a_question_for_several_things_is_told(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the default port?",
        "What are embeddings?",
        "What happens in the evaluation stage?",
        "What causes training-serving skew?",
        "What makes a fast rollback possible?",
        "Which index needs a training step?",
        "Which is the fastest?",
        "What does the analysis say?",
        "What status does it give?",
        "How many stages are there?",
        "When was the mill built?",
        "Name the person who owns it.",
        "Who owns the two mills?",
        "What was the news of 1999?",
        "",
    ],
)
def test_a_question_for_one_thing_is_none_for_several(question: str) -> None:
    assert not asks_for_several(question)
