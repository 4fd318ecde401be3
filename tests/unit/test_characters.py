"""Characters are composed in linear time, and piece by piece as at once."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import characters
from corpus.characters import MAX_MARKS, normalize, split_text
from corpus.ingestion.normal_form import _normal_form


def test_no_letter_but_a_korean_vowel_or_final_joins_the_one_before() -> None:
    joining = set()
    for number in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(number)).split()
        if len(parts) == 2 and "<" not in parts[0]:
            joining.add(chr(int(parts[1], 16)))
    assert [mark for mark in joining if characters._stands_alone(mark)] == []


@given(st.text(st.sampled_from("ab1. \n\t\u0301\u0316\u00ad\uac00\u1100\u1161\u11a8\u00e9\u4e00")))
def test_pieces_are_the_text_and_are_composed_one_by_one(text: str) -> None:
    whole = normalize("NFC", text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(characters, "PIECE_CHARS", 3)
        found = list(split_text(text))
    assert "".join(found) == text
    assert "".join(normalize("NFC", piece) for piece in found) == whole


@given(st.text(st.sampled_from("a. \n\r\t\u0301\u00ad\x0b\u00a0\u4e00"), max_size=30))
def test_a_normal_form_is_the_same_in_pieces(text: str) -> None:
    at_once = _normal_form(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(characters, "PIECE_CHARS", 1)
        assert _normal_form(text) == at_once


@pytest.mark.parametrize("marks", [MAX_MARKS, MAX_MARKS + 1, 500])
def test_of_marks_in_a_row_thirty_stay(marks: int) -> None:
    kept = min(marks, MAX_MARKS)
    for mark in "\u0316\u0301":
        assert normalize("NFC", f"b{mark * marks} and") == f"b{mark * kept} and"


def test_signs_in_a_row_that_are_no_marks_stay() -> None:
    line = "\u2014" * 200 + "\u0301"
    assert normalize("NFKC", line) == line


def test_a_text_without_a_place_to_end_is_one_piece() -> None:
    assert len(list(split_text(" " * (characters.PIECE_CHARS + 1)))) == 1
