"""Which sentences are quoted, where what was read is given."""

from dataclasses import replace

from qa.answerers.extractive import ExtractiveAnswerer
from qa.sigmoid import sigmoid
from qa.types import Draft, Passage
from tests.doubles import read_as

RYE = Passage("c1", "d1", "0" * 64, "", "", (), None, "Rye is baked here. Bread is dark.", 0, 33)
OATS = replace(RYE, chunk_id="c2", text="Oats are baked here.\n\nPorridge is pale.")
QUESTION = "What is baked?"


def answer(*passages: Passage, most_words: int = 4) -> Draft:
    return ExtractiveAnswerer(most_words=most_words).answer(QUESTION, passages)


def test_the_passage_that_reads_best_is_quoted_around_what_was_read() -> None:
    found = answer(read_as(RYE, "dark", score=1.0), read_as(OATS, "Oats", score=2.0))
    assert (found.text, found.cited) == ("Oats are baked here.", ("S2",))
    found = answer(read_as(RYE, "dark", score=3.0), read_as(OATS, "Oats", score=2.0))
    assert (found.text, found.cited) == ("Bread is dark.", ("S1",))


def test_one_passage_alone_is_quoted_however_long_the_answer_may_be() -> None:
    found = answer(read_as(RYE, "dark", score=1.9), read_as(OATS, "Oats", score=2.0), most_words=99)
    assert found.text == OATS.text


def test_what_is_read_better_is_surer() -> None:
    for score in (-3.0, 4.0):
        assert answer(read_as(RYE, "Rye", score=score)).confidence == sigmoid(score)


def test_no_passages_make_no_answer() -> None:
    assert answer() == Draft("", (), 0.0, "extractive")


def test_what_was_not_read_is_not_quoted() -> None:
    assert answer(RYE) == answer()
    assert answer(RYE, read_as(OATS, "Oats", score=-9.0)).cited == ("S2",)
