"""What a reader learns from: true of the passages, and the same for the same seed."""

from random import Random

import pytest

from evaluation.datasets import DataSet, GoldDocument, GoldQuestion
from training.reader_rows import MADE_WEIGHT, MAX_CHARS, ReaderRow, make_rows, replace_word

NORMANS = GoldDocument("d1", "Normans", "The Normans gave their name to Normandy, in France.")
ROLLO = GoldDocument("d2", "Normans", "Rollo was their first ruler. He came in 911.")
LONG = GoldDocument("d3", "", " ".join(f"Item {i} costs {i} euros." for i in range(200)))


def rows_of(*questions: GoldQuestion, seed: int = 0) -> list[ReaderRow]:
    return make_rows(DataSet("made", (NORMANS, ROLLO, LONG), questions=questions), seed=seed)


def asked(text: str, answer: str, doc_id: str, *, is_answerable: bool = True) -> GoldQuestion:
    answers = (answer,) if answer else ()
    return GoldQuestion(text, text, answers, (doc_id,), is_answerable)


def test_an_answer_is_marked_where_it_stands() -> None:
    (row, *_) = rows_of(asked("What does item 150 cost?", "150 euros", "d3"))
    ((start, end),) = row.spans or ()
    assert row.is_answered
    assert row.passage[start:end] == "150 euros"
    assert "Item 150 costs 150 euros." in row.passage
    assert len(row.passage) <= MAX_CHARS


def test_an_answer_in_other_words_is_taken_of_one_passage_only() -> None:
    (row, *_) = rows_of(asked("Where is Normandy?", "the French republic", "d1"))
    assert row.is_answered
    assert row.spans is None
    assert rows_of(asked("What is dear?", "the last one", "d3")) == []


def test_a_question_without_an_answer_is_beside_the_nearest_passage() -> None:
    (row,) = rows_of(asked("What does item 170 weigh?", "", "d3", is_answerable=False))
    assert not row.is_answered
    assert row.spans == ()
    assert "Item 170 " in row.passage


def test_answered_question_is_also_changed_and_put_beside_another_passage() -> None:
    question = asked("Which country is Normandy in?", "France", "d1")
    other = asked("When did Rollo come?", "911", "d2")
    made = [row for seed in range(9) for row in rows_of(question, other, seed=seed)]
    of_question = [row for row in made if row.weight == MADE_WEIGHT]
    assert all(not row.is_answered and row.spans == () for row in of_question)
    assert {row.question for row in of_question} > {question.text, other.text}
    beside = {(row.question, row.passage) for row in of_question}
    assert (question.text, ROLLO.text) in beside
    assert (question.text, NORMANS.text) not in beside
    assert (other.text, NORMANS.text) in beside


def test_a_question_without_a_document_or_known_answer_has_no_made_rows() -> None:
    assert rows_of(asked("Who?", "Rollo", "absent")) == []
    assert all(row.passage == NORMANS.text for row in rows_of(asked("Is it?", "", "d1")))


def test_the_same_seed_gives_the_same_rows() -> None:
    questions = [asked(f"What does item {i} cost?", f"{i} euros", "d3") for i in range(30)]
    assert rows_of(*questions) == rows_of(*questions)
    assert rows_of(*questions) != rows_of(*questions, seed=1)


@pytest.mark.parametrize(
    ("question", "names", "wanted"),
    [
        ("Where is Normandy?", ["Paris", "Normandy"], {"Where is Paris?"}),
        ("What is the largest part?", [], {"What is the smallest part?"}),
        ("In 911 what came?", [], {f"In {year} what came?" for year in range(912, 957)}),
        ("What is it?", [], {None, "What isn't it?"}),
        ("Why?", ["Paris"], {None}),
        ("What is 99999999999999999999 ", [], None),
    ],
)
def test_one_word_is_exchanged(
    question: str, names: list[str], wanted: set[str | None] | None
) -> None:
    draws = [Random(seed) for seed in range(60)]  # noqa: S311  (no secret)
    found = {replace_word(question, names, draw) for draw in draws}
    assert question not in found
    if wanted is not None:
        assert found - {_negated(question)} <= wanted
        assert wanted & found


def _negated(question: str) -> str:
    return question.replace(" is ", " isn't ")
