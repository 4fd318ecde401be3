"""What of a question is meant to the letter."""

import pytest

from qa.parsing import find_phrases


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
