"""Which sentences are quoted, where what was read is given."""

from dataclasses import replace

import pytest

from qa.answerers.extractive import SECOND_WITHIN, ExtractiveAnswerer
from qa.proof.confidence import SCORE_WEIGHT
from qa.types import Draft, Passage
from tests.doubles import read_as

RYE = Passage("c1", "d1", "0" * 64, "", "", (), None, "Rye is baked here. Bread is dark.", 0, 33)
OATS = replace(RYE, chunk_id="c2", text="Oats are baked here.\n\nPorridge is pale.")
# The same text further down in the document, and in another one.
BELOW = replace(OATS, start_char=33, end_char=73)
ELSEWHERE = replace(OATS, document_id="d2")
QUESTION = "What is baked?"


def answer(*passages: Passage, most_words: int = 4) -> Draft:
    return ExtractiveAnswerer(most_words=most_words).answer(QUESTION, passages)


def test_the_passage_that_reads_best_is_quoted_around_what_was_read() -> None:
    found = answer(read_as(RYE, "dark", score=1.0), read_as(OATS, "Oats", score=2.0))
    assert (found.text, found.cited) == ("Oats are baked here.", ("S2",))
    found = answer(read_as(RYE, "dark", score=3.0), read_as(OATS, "Oats", score=2.0))
    assert (found.text, found.cited) == ("Bread is dark.", ("S1",))


@pytest.mark.parametrize(
    ("behind", "is_said"), [(0.0, True), (SECOND_WITHIN - 0.1, True), (SECOND_WITHIN, False)]
)
def test_a_second_place_of_the_document_is_quoted_where_it_reads_nearly_as_well(
    behind: float, is_said: bool
) -> None:
    found = answer(read_as(RYE, "dark", score=5.0), read_as(BELOW, "pale", score=5.0 - behind))
    assert found.text.split("\n\n") == ["Bread is dark.", "Porridge is pale."][: 1 + is_said]
    assert found.cited == ("S1", "S2")[: 1 + is_said]


def test_what_a_document_says_twice_is_said_once() -> None:
    again = replace(BELOW, text=f"Oats are baked here. {RYE.text}")
    found = answer(read_as(RYE, "dark", score=2.0), read_as(again, "dark", score=1.9))
    assert (found.text, found.cited) == ("Bread is dark.", ("S1",))


LISTED = "There are two:\n\n1. Rye is dark.\n2. Oats are pale."
LIST = replace(RYE, text=LISTED, end_char=len(LISTED))


def test_an_item_is_said_behind_what_leads_to_it_each_word_for_word() -> None:
    found = answer(read_as(LIST, "pale"))
    assert found.text == "There are two:\n\n2. Oats are pale."
    assert found.cited == ("S1",)


def test_what_leads_to_an_item_is_left_out_where_it_is_long() -> None:
    text = LISTED.replace("two", "two " * 40)
    assert answer(read_as(replace(LIST, text=text), "pale")).text == "2. Oats are pale."


def test_where_several_things_are_asked_for_a_list_is_said_whole() -> None:
    def said(question: str) -> str:
        return ExtractiveAnswerer(most_words=4).answer(question, [read_as(LIST, "pale")]).text

    assert said("What are the kinds of grain?") == LISTED
    assert said("Which grain is pale?") == "There are two:\n\n2. Oats are pale."


def test_how_well_a_place_was_found_counts_for_the_second_one_too() -> None:
    first = replace(RYE, score=(SECOND_WITHIN + 0.1) / SCORE_WEIGHT)
    assert answer(read_as(first, "dark"), read_as(BELOW, "pale")).cited == ("S1",)


def test_a_second_place_has_half_the_words() -> None:
    near = read_as(RYE, "Rye", score=1.0)
    found = answer(near, read_as(BELOW, "Oats"), most_words=8)
    assert found.text == f"{RYE.text}\n\nOats are baked here."
    assert answer(near, read_as(BELOW, "Oats"), most_words=14).text == f"{RYE.text}\n\n{BELOW.text}"


@pytest.mark.parametrize("other", [ELSEWHERE, OATS], ids=["another document", "the same place"])
def test_one_passage_alone_is_quoted_where_no_other_place_of_its_document_is(
    other: Passage,
) -> None:
    found = answer(read_as(RYE, "Rye", score=2.0), read_as(other, "Oats", score=1.9))
    assert (found.text, found.cited) == ("Rye is baked here.", ("S1",))


def test_the_next_place_is_quoted_where_the_likeliest_other_passage_is_none() -> None:
    found = answer(
        read_as(RYE, "Rye", score=2.0),
        read_as(ELSEWHERE, "Oats", score=1.9),
        read_as(BELOW, "pale", score=1.8),
    )
    assert found.cited == ("S1", "S3")


def test_no_passages_make_no_answer() -> None:
    assert answer() == Draft("", (), "extractive")


def test_what_was_not_read_is_not_quoted() -> None:
    assert answer(RYE) == answer()
    assert answer(RYE, read_as(OATS, "Oats", score=-9.0)).cited == ("S2",)
