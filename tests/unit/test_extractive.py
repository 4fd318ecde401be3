"""Which sentences are quoted, where what was read is given."""

from dataclasses import replace

import pytest

from qa.answerers.extractive import SECOND_WITHIN, ExtractiveAnswerer
from qa.proof.confidence import SCORE_WEIGHT
from qa.types import Draft, Passage, Query
from tests.doubles import read_as

RYE = Passage("c1", "d1", "0" * 64, "", "", (), None, "Rye is baked here. Bread is dark.", 0, 33)
OATS = replace(RYE, chunk_id="c2", text="Oats are baked here.\n\nPorridge is pale.")
# The same text further down in the document, and in another one.
BELOW = replace(OATS, start_char=33, end_char=73)
ELSEWHERE = replace(OATS, document_id="d2")
QUERY = Query("What is baked?", "default")


def answer(*passages: Passage, most_words: int = 4, query: Query = QUERY) -> Draft:
    return ExtractiveAnswerer(most_words=most_words).answer(query, passages)


def said(draft: Draft) -> list[str]:
    return [statement.text for statement in draft.statements]


def cited(draft: Draft) -> list[str]:
    """The chunks that the draft quotes, each once."""
    quotes = [quote for statement in draft.statements for quote in statement.quotes]
    return list(dict.fromkeys(quote.passage.chunk_id for quote in quotes))


def test_each_statement_is_its_quote_word_for_word() -> None:
    moved = replace(RYE, start_char=200, end_char=233)
    draft = answer(read_as(moved, "dark"))
    (statement,) = draft.statements
    (quote,) = statement.quotes
    assert draft.answerer == "extractive"
    assert statement.text == quote.text == "Bread is dark."
    assert (quote.start_char, quote.end_char) == (219, 233)


def test_the_passage_that_reads_best_is_quoted_around_what_was_read() -> None:
    found = answer(read_as(RYE, "dark", score=1.0), read_as(OATS, "Oats", score=2.0))
    assert (said(found), cited(found)) == (["Oats are baked here."], ["c2"])
    found = answer(read_as(RYE, "dark", score=3.0), read_as(OATS, "Oats", score=2.0))
    assert (said(found), cited(found)) == (["Bread is dark."], ["c1"])


@pytest.mark.parametrize(
    ("behind", "is_said"), [(0.0, True), (SECOND_WITHIN - 0.1, True), (SECOND_WITHIN, False)]
)
def test_a_second_place_of_the_document_is_quoted_where_it_reads_nearly_as_well(
    behind: float, is_said: bool
) -> None:
    found = answer(read_as(RYE, "dark", score=5.0), read_as(BELOW, "pale", score=5.0 - behind))
    assert said(found) == ["Bread is dark.", "Porridge is pale."][: 1 + is_said]
    assert cited(found) == ["c1", "c2"][: 1 + is_said]


def test_what_a_document_says_twice_is_said_once() -> None:
    again = replace(BELOW, text=f"Oats are baked here. {RYE.text}")
    found = answer(read_as(RYE, "dark", score=2.0), read_as(again, "dark", score=1.9))
    assert (said(found), cited(found)) == (["Bread is dark."], ["c1"])


LISTED = "There are two:\n\n- Rye is dark.\n- Oats are pale."
LIST = replace(RYE, text=LISTED, end_char=len(LISTED))


def test_an_item_is_said_behind_what_leads_to_it_each_word_for_word() -> None:
    assert said(answer(read_as(LIST, "pale"))) == ["There are two:", "- Oats are pale."]
    assert said(answer(read_as(LIST, "dark"))) == ["There are two:\n\n- Rye is dark."]


def test_a_step_is_said_behind_those_before_it() -> None:
    text = "To bake:\n1. Knead it.\n2. Wait.\n3. Bake it."
    steps = read_as(replace(LIST, text=text, end_char=len(text)), "Bake it")
    assert said(answer(steps)) == [text]


def test_what_leads_to_an_item_is_left_out_where_it_is_long() -> None:
    text = LISTED.replace("two", "two " * 40)
    assert said(answer(read_as(replace(LIST, text=text), "pale"))) == ["- Oats are pale."]


def test_where_several_things_are_asked_for_a_list_is_said_whole() -> None:
    several = replace(QUERY, wants_list=True)
    assert said(answer(read_as(LIST, "pale"), query=several)) == [LISTED]


def test_how_well_a_place_was_found_counts_for_the_second_one_too() -> None:
    first = replace(RYE, score=(SECOND_WITHIN + 0.1) / SCORE_WEIGHT)
    assert cited(answer(read_as(first, "dark"), read_as(BELOW, "pale"))) == ["c1"]


def test_a_second_place_has_half_the_words() -> None:
    near = read_as(RYE, "Rye", score=1.0)
    found = answer(near, read_as(BELOW, "Oats"), most_words=8)
    assert said(found) == [RYE.text, "Oats are baked here."]
    assert said(answer(near, read_as(BELOW, "Oats"), most_words=14)) == [RYE.text, BELOW.text]


@pytest.mark.parametrize("other", [ELSEWHERE, OATS], ids=["another document", "the same place"])
def test_one_passage_alone_is_quoted_where_no_other_place_of_its_document_is(
    other: Passage,
) -> None:
    found = answer(read_as(RYE, "Rye", score=2.0), read_as(other, "Oats", score=1.9))
    assert (said(found), cited(found)) == (["Rye is baked here."], ["c1"])


def test_the_next_place_is_quoted_where_the_likeliest_other_passage_is_none() -> None:
    found = answer(
        read_as(RYE, "Rye", score=2.0),
        read_as(ELSEWHERE, "Oats", score=1.9),
        read_as(replace(BELOW, chunk_id="c3"), "pale", score=1.8),
    )
    assert cited(found) == ["c1", "c3"]


def test_no_passages_make_no_answer() -> None:
    assert answer() == Draft((), "extractive")


def test_what_was_not_read_is_not_quoted() -> None:
    assert answer(RYE) == answer()
    assert cited(answer(RYE, read_as(OATS, "Oats", score=-9.0))) == ["c2"]


def test_a_quote_that_both_places_need_is_said_once() -> None:
    first = read_as(replace(LIST, text=f"{LISTED}\n- Spelt is nutty.", end_char=70), "pale")
    again = read_as(replace(first, chunk_id="c3"), "nutty", score=-0.5)
    assert said(answer(first, again, most_words=8)) == [
        "There are two:", "- Oats are pale.", "- Spelt is nutty.",
    ]  # fmt: skip


def test_there_is_nothing_to_load() -> None:
    answerer = ExtractiveAnswerer(most_words=4)
    answerer.load()
    assert (answerer.is_loaded, answerer.reads_neighbours) == (True, False)
