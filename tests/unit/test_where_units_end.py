"""The whole paragraphs, items and rows that a passage is shown as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.search.units import find_unit

TEXT = "# Mill\n\nThe mill is of oak.\n\nRye is ground there.\n\nAnna Holt owns all."


def unit(text: str, part: str, *, chunk: str = "", most_words: int = 140) -> str:
    def span_of(piece: str) -> tuple[int, int]:
        return text.index(piece), text.index(piece) + len(piece)

    found = find_unit(
        text, span_of(part), chunk=span_of(chunk) if chunk else None, most_words=most_words
    )
    return text[slice(*found)]


def test_all_that_there_is_room_for_is_shown() -> None:
    assert unit(TEXT, "Rye") == TEXT


@pytest.mark.parametrize(
    ("most_words", "shown"),
    [
        (1, "Rye is ground there."),
        (8, "Rye is ground there.\n\nAnna Holt owns all."),
        (13, "The mill is of oak.\n\nRye is ground there.\n\nAnna Holt owns all."),
    ],
)
def test_what_follows_is_shown_before_what_stands_before(most_words: int, shown: str) -> None:
    assert unit(TEXT, "ground", most_words=most_words) == shown


def test_it_grows_within_its_chunk_first() -> None:
    chunk = "The mill is of oak.\n\nRye is ground there."
    assert unit(TEXT, "Rye", chunk=chunk, most_words=9) == chunk
    assert unit(TEXT, "Rye", chunk=chunk, most_words=13) == f"{chunk}\n\nAnna Holt owns all."


def test_a_part_that_is_longer_stays_whole() -> None:
    assert unit(TEXT, "oak.\n\nRye", most_words=2) == "The mill is of oak.\n\nRye is ground there."


@pytest.mark.parametrize("last", ["## Wheel", "These are:", "Who owns it?"])
def test_it_ends_neither_in_a_heading_nor_in_what_leads_on(last: str) -> None:
    text = f"Rye is ground.\n\n{last}\n\n{'word ' * 20}"
    assert unit(text, "Rye", most_words=8) == "Rye is ground."
    assert unit(text, last, most_words=3) == last


def test_where_a_part_has_no_words_the_chunk_is_shown() -> None:
    text = "Rye.\n\n1."
    assert find_unit(text, (6, 8), chunk=(0, 4)) == (0, 4)
    assert find_unit(text, (6, 8)) == (0, len(text))
    assert find_unit("", (0, 0)) == (0, 0)


def test_a_chunk_without_words_holds_it_in_no_bounds() -> None:
    assert find_unit(TEXT, (8, 12), chunk=(6, 8), most_words=5) == (8, 27)


PIECES = ["Rye is ground. ", "These are:\n", "- oak\n", "| a | b |\n", "\n\n", "# Mill\n", "word "]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.data())
def test_a_unit_holds_the_words_of_its_part_and_no_more_than_there_is_room_for(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    most_words = data.draw(st.integers(1, 20))
    part = find_unit(text, (start, end), most_words=1)
    whole = find_unit(text, (start, end), most_words=most_words)
    assert 0 <= whole[0] <= part[0] <= part[1] <= whole[1] <= len(text)
    assert text[start:end].strip() in text[slice(*whole)]
    if whole != part:
        assert len(text[slice(*whole)].split()) <= most_words
