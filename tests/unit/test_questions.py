"""What of a question is meant to the letter."""

import pytest

from qa.questions import MOST_PHRASES, MOST_SENTENCES, find_phrases, find_sentences


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
