"""Text in scripts without spaces is cut into n-grams for the lexical leg."""

import pytest

from corpus.lexical import character_ngrams


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The lamp burns.", ""),
        ("灯台守", "灯台 台守"),
        ("灯", "灯"),
        ("The 灯台 at Bavoke, 海", "灯台 海"),
        ("ลมทะเล", "ลมท มทะ ทะเ ะเล"),
        ("", ""),
    ],
    ids=["latin", "pairs", "single", "mixed", "thai", "empty"],
)
def test_ngrams_of_scripts_without_spaces(text: str, expected: str) -> None:
    assert character_ngrams(text) == expected
