"""Where a right answer was lost, and how many of each kind."""

from dataclasses import replace

import pytest

from evaluation.figures import BY_KIND, MEASURES, count_by_kind
from evaluation.losses import Loss, find_loss
from evaluation.results import ANSWERS, Observation
from qa.answer_question import AnsweredQuestion
from qa.types import Answer, Draft, Passage

GOLD = ("Orsolya Quill",)
PASSAGE = Passage(
    chunk_id="c1",
    document_id="d1",
    content_sha256="0" * 64,
    title="",
    source_uri="",
    heading_path=(),
    page=None,
    text="It is white. Orsolya Quill built it.",
    start_char=0,
    end_char=36,
)
OTHER = replace(PASSAGE, chunk_id="c2", text="A bakery sells bread.")


def answered(text: str, *, drafted: str, cited: str) -> AnsweredQuestion:
    return AnsweredQuestion(
        id="1",
        answer=Answer("Who built it?", text, 0.2),
        searched="Who built it?",
        passages=(OTHER, PASSAGE),
        draft=Draft(drafted, (cited,), 0.5, "extractive"),
    )


@pytest.mark.parametrize(
    ("text", "drafted", "cited", "loss"),
    [
        ("A bakery sells bread.", "A bakery sells bread.", "S1", Loss.OTHER_PASSAGE),
        ("It is white.", "It is white.", "S2", Loss.OTHER_SENTENCE),
        ("It is white.", "It is white. Orsolya Quill built it.", "S2", Loss.NOT_PROVED),
        ("", "Orsolya Quill built it.", "S2", Loss.REFUSED),
        ("", "It is white.", "S2", Loss.OTHER_SENTENCE),
    ],
)
def test_a_right_answer_is_lost_where_it_was_last(
    text: str, drafted: str, cited: str, loss: Loss
) -> None:
    assert find_loss(answered(text, drafted=drafted, cited=cited), GOLD) == loss


def test_what_no_passage_holds_was_not_found() -> None:
    found = answered("", drafted="It is white.", cited="S2")
    assert find_loss(found, ["Anna Holt"]) == Loss.NOT_FOUND
    assert find_loss(replace(found, passages=(), draft=None), GOLD) == Loss.NOT_FOUND


def observation(*, given: bool, right: bool = False, lost: Loss | None = None) -> Observation:
    names = {name for measure in MEASURES if measure.mode == ANSWERS for name in measure.columns}
    lost_at = {f"lost_{loss}": float(loss == lost) for loss in Loss}
    told = {"answered": float(given), "refused": float(not given), "right": float(right)}
    return {**dict.fromkeys(names, 0.0), **lost_at, **told}


def test_each_kind_of_question_is_counted_by_itself() -> None:
    observed = {
        "q1": observation(given=True, right=True),
        "q2": observation(given=True, lost=Loss.OTHER_SENTENCE),
        "q3": observation(given=False, lost=Loss.REFUSED),
        "q4": observation(given=True),
    }
    kinds = {"q1": "table", "q2": "table", "q3": "how-to", "q4": "unanswerable"}
    counts = count_by_kind(observed, kinds)
    assert list(counts) == ["table", "how-to", "unanswerable"]
    none = dict.fromkeys(BY_KIND, 0)
    assert counts["table"] == none | {"asked": 2, "right": 1, "wrong": 1, "other_sentence": 1}
    assert counts["how-to"] == none | {"asked": 1, "refused": 1, "refused_right": 1}
    assert counts["unanswerable"] == none | {"asked": 1, "wrong": 1}


def test_an_answer_to_what_has_none_counts_against_what_was_said() -> None:
    rows = {
        "right": {**observation(given=True, right=True), "answerable": 1.0, "words": 4.0},
        "lost": {**observation(given=False, lost=Loss.NOT_FOUND), "answerable": 1.0},
        "made up": {**observation(given=True), "unanswerable": 1.0, "words": 10.0},
    }
    figures = {
        measure.name: measure.compute(rows) for measure in MEASURES if measure.mode == ANSWERS
    }
    assert (figures["said_right"].value, figures["said_right"].n) == (0.5, 2)
    assert (figures["answered_right"].value, figures["answered_right"].n) == (0.5, 2)
    assert (figures["words"].value, figures["words"].n) == (7.0, 2)
