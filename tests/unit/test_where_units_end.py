"""Passages that are shown whole: where they begin and end, and which are left out."""

from dataclasses import replace

import pytest

from qa.search.units import find_unit, show_units
from qa.types import Citation, ClosePassage, Passage
from tests.factories import COAST, FIRST_SENTENCE, LAST_SENTENCE, LIGHTHOUSE, close_to

FEES = """The fees are these:

| Boat | Summer |
|---|---|
| Dinghy | 12 |
| Ketch | 40 |

A berth is paid for on the first day."""
HEADER = FEES.index("| Boat")


def unit_around(words: str, *, most_words: int, taken: str = "") -> str:
    def span(of: str) -> tuple[int, int]:
        return FEES.index(of), FEES.index(of) + len(of)

    start, end = find_unit(
        FEES, span(words), most_words=most_words, taken=[span(taken)] if taken else ()
    )
    return FEES[start:end]


def test_a_unit_begins_with_the_header_of_a_table_rather_than_within() -> None:
    assert unit_around("| Ketch | 40 |", most_words=19) == FEES[HEADER:]


def test_a_unit_begins_behind_a_table_whose_header_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qa.search.units.HEADER_WORDS", 0)
    assert unit_around("A berth", most_words=19) == "A berth is paid for on the first day."


def test_a_unit_does_not_grow_into_what_is_taken() -> None:
    whole = unit_around("A berth", most_words=60)
    assert whole == FEES
    assert unit_around("A berth", most_words=60, taken="| Ketch | 40 |") == FEES[-37:]


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
