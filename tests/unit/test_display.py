"""Passages are shown as whole segments of their documents."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.search.display import HEADER_WORDS, find_unit, show_units
from qa.types import Citation, ClosePassage, Passage
from tests.support.documents import COAST, FIRST_SENTENCE, LAST_SENTENCE, LIGHTHOUSE, close_to

TEXT = "# Mill\n\nThe mill is of oak.\n\nRye is ground there.\n\nAnna Holt owns all."


def unit(text: str, part: str, *, chunk: str = "", max_words: int = 140) -> str:
    def span_of(piece: str) -> tuple[int, int]:
        return text.index(piece), text.index(piece) + len(piece)

    found = find_unit(
        text, span_of(part), chunk=span_of(chunk) if chunk else None, max_words=max_words
    )
    return text[slice(*found)]


def test_all_that_there_is_room_for_is_shown() -> None:
    assert unit(TEXT, "Rye") == TEXT


@pytest.mark.parametrize(
    ("max_words", "shown"),
    [
        (1, "Rye is ground there."),
        (8, "Rye is ground there.\n\nAnna Holt owns all."),
        (13, "The mill is of oak.\n\nRye is ground there.\n\nAnna Holt owns all."),
    ],
)
def test_what_follows_is_shown_before_what_stands_before(max_words: int, shown: str) -> None:
    assert unit(TEXT, "ground", max_words=max_words) == shown


def test_it_grows_within_its_chunk_first() -> None:
    chunk = "The mill is of oak.\n\nRye is ground there."
    assert unit(TEXT, "Rye", chunk=chunk, max_words=9) == chunk
    assert unit(TEXT, "Rye", chunk=chunk, max_words=13) == f"{chunk}\n\nAnna Holt owns all."


def test_a_part_that_is_longer_stays_whole() -> None:
    assert unit(TEXT, "oak.\n\nRye", max_words=2) == "The mill is of oak.\n\nRye is ground there."


@pytest.mark.parametrize("last", ["## Wheel", "These are:", "Who owns it?"])
def test_it_ends_neither_in_a_heading_nor_in_what_leads_on(last: str) -> None:
    text = f"Rye is ground.\n\n{last}\n\n{'word ' * 20}"
    assert unit(text, "Rye", max_words=8) == "Rye is ground."
    assert unit(text, last, max_words=3) == last


def test_where_a_part_has_no_words_the_chunk_is_shown() -> None:
    text = "Rye.\n\n1."
    assert find_unit(text, (6, 8), chunk=(0, 4)) == (0, 4)
    assert find_unit(text, (6, 8)) == (0, len(text))
    assert find_unit("", (0, 0)) == (0, 0)


def test_a_chunk_without_words_holds_it_in_no_bounds() -> None:
    assert find_unit(TEXT, (8, 12), chunk=(6, 8), max_words=5) == (8, 27)


PIECES = ["Rye is ground. ", "These are:\n", "- oak\n", "| a | b |\n", "\n\n", "# Mill\n", "word "]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.data())
def test_unit_holds_the_words_of_its_part_as_far_as_there_is_room(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    max_words = data.draw(st.integers(1, 20))
    part = find_unit(text, (start, end), max_words=1)
    whole = find_unit(text, (start, end), max_words=max_words)
    assert 0 <= whole[0] <= part[0] <= part[1] <= whole[1] <= len(text)
    assert text[start:end].strip() in text[slice(*whole)]
    if whole != part:
        assert len(text[slice(*whole)].split()) <= max_words + HEADER_WORDS


FEES = """The fees are these:

| Boat | Summer |
|---|---|
| Dinghy | 12 |
| Ketch | 40 |

A berth is paid for on the first day."""
HEADER = FEES.index("| Boat")


def unit_around(words: str, *, max_words: int, taken: str = "") -> str:
    def span(of: str) -> tuple[int, int]:
        return FEES.index(of), FEES.index(of) + len(of)

    start, end = find_unit(
        FEES, span(words), max_words=max_words, taken=[span(taken)] if taken else ()
    )
    return FEES[start:end]


def test_a_unit_begins_with_the_header_of_a_table_rather_than_within() -> None:
    assert unit_around("| Ketch | 40 |", max_words=19) == FEES[HEADER:]


def test_a_unit_begins_behind_a_table_whose_header_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qa.search.display.HEADER_WORDS", 0)
    assert unit_around("A berth", max_words=19) == "A berth is paid for on the first day."


def test_a_unit_does_not_grow_into_what_is_taken() -> None:
    whole = unit_around("A berth", max_words=60)
    assert whole == FEES
    assert unit_around("A berth", max_words=60, taken="| Ketch | 40 |") == FEES[-37:]


def cite(quote: str, passage: Passage = COAST) -> Citation:
    start = passage.start_char + LIGHTHOUSE.index(quote)
    end = start + len(quote)
    return Citation(passage, quote, start, end, 0, len(quote), score=0.9, support="supported")


def of_selection(close: ClosePassage) -> ClosePassage:
    passage = replace(close.passage, is_selected=True, document_id="")
    return replace(close, passage=passage)


def test_what_is_cited_is_not_shown_again() -> None:
    selected = [of_selection(close_to(each)) for each in (FIRST_SENTENCE, LAST_SENTENCE)]
    (shown,) = show_units(selected, cited=[cite(FIRST_SENTENCE, selected[0].passage)])
    assert shown.quote == LAST_SENTENCE
    assert shown.unit_text == LIGHTHOUSE.split("\n\n")[1]


def test_a_passage_is_shown_once() -> None:
    selected = [of_selection(close_to(each)) for each in (FIRST_SENTENCE, LAST_SENTENCE)]
    (shown,) = show_units(selected)
    assert (shown.quote, shown.unit_text) == (FIRST_SENTENCE, LIGHTHOUSE)
