"""Where a right answer was lost, and how many of each kind."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from evaluation.figures import BY_KIND, MEASURES, count_by_kind, measure_all, measure_thresholds
from evaluation.results import ANSWERS, FOREIGN, FailureStage, Figure, Observation
from evaluation.runs import find_failure_stage
from qa.types import Answer, AnsweredQuestion, Draft, Quote, Statement
from tests.support.passages import passage

GOLD = ("Orsolya Quill",)
PASSAGE = passage("It is white. Orsolya Quill built it.")
OTHER = replace(PASSAGE, chunk_id="c2", text="A bakery sells bread.")


WHITE, BUILT = Quote(PASSAGE, 0, 12), Quote(PASSAGE, 13, 36)


def answered(text: str, *, drafted: str, quote: Quote) -> AnsweredQuestion:
    return AnsweredQuestion(
        id="1",
        answer=Answer("Who built it?", text, 0.2),
        searched="Who built it?",
        passages=(OTHER, PASSAGE),
        draft=Draft((Statement(drafted, (quote,)),), "extractive"),
    )


@pytest.mark.parametrize(
    ("text", "drafted", "quote", "loss"),
    [
        (OTHER.text, OTHER.text, Quote(OTHER, 0, 21), FailureStage.OTHER_PASSAGE),
        ("It is white.", "It is white.", WHITE, FailureStage.OTHER_SENTENCE),
        ("It is white.", "It is white. Orsolya Quill built it.", WHITE, FailureStage.NOT_PROVED),
        ("It is white.", "An engineer built it.", BUILT, FailureStage.NOT_PROVED),
        ("", "Orsolya Quill built it.", BUILT, FailureStage.REFUSED),
        ("", "It is white.", WHITE, FailureStage.OTHER_SENTENCE),
    ],
)
def test_a_right_answer_is_lost_where_it_was_last(
    text: str, drafted: str, quote: Quote, loss: FailureStage
) -> None:
    assert find_failure_stage(answered(text, drafted=drafted, quote=quote), GOLD) == loss


def test_what_no_passage_holds_was_not_found() -> None:
    found = answered("", drafted="It is white.", quote=WHITE)
    assert find_failure_stage(found, ["Anna Holt"]) == FailureStage.NOT_FOUND
    assert (
        find_failure_stage(replace(found, passages=(), draft=None), GOLD) == FailureStage.NOT_FOUND
    )


def observation(
    *, given: bool, right: bool = False, lost: FailureStage | None = None
) -> Observation:
    names = {name for measure in MEASURES if measure.mode == ANSWERS for name in measure.columns}
    lost_at = {f"lost_{loss}": float(loss == lost) for loss in FailureStage}
    told = {"answered": float(given), "refused": float(not given), "right": float(right)}
    return {**dict.fromkeys(names, 0.0), **lost_at, **told}


def figures_of(rows: Mapping[str, Observation]) -> dict[str, Figure]:
    return {measure.name: measure.compute(rows) for measure in MEASURES if measure.mode == ANSWERS}


def test_each_kind_of_question_is_counted_by_itself() -> None:
    observed = {
        "q1": observation(given=True, right=True),
        "q2": observation(given=True, lost=FailureStage.OTHER_SENTENCE),
        "q3": observation(given=False, lost=FailureStage.REFUSED),
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
        "lost": {**observation(given=False, lost=FailureStage.NOT_FOUND), "answerable": 1.0},
        "made up": {**observation(given=True), "unanswerable": 1.0, "words": 10.0},
    }
    figures = figures_of(rows)
    assert (figures["said_right"].value, figures["said_right"].n) == (0.5, 2)
    assert (figures["answered_right"].value, figures["answered_right"].n) == (0.5, 2)
    assert (figures["words"].value, figures["words"].n) == (7.0, 2)


def test_what_is_contained_is_told_of_the_answers_given_too() -> None:
    given = {"with_gold": 1.0, "given_with_gold": 1.0}
    rows = {
        "right": {**observation(given=True, right=True), **given, "contains": 1.0},
        "wrong": {**observation(given=True), **given},
        "lost": {**observation(given=False, lost=FailureStage.REFUSED), "with_gold": 1.0},
        "not found": {**observation(given=False, lost=FailureStage.NOT_FOUND), "with_gold": 1.0},
    }
    figures = figures_of(rows)
    assert (figures["contains_gold"].value, figures["contains_gold"].n) == (0.25, 4)
    assert (figures["contains_given"].value, figures["contains_given"].n) == (0.5, 2)


def test_what_is_lost_is_told_with_how_much_of_it_was_right() -> None:
    refused = {"answerable": 1.0, "with_gold": 1.0, "refused_answerable": 1.0}
    rows = {
        "right": {**observation(given=True, right=True), "answerable": 1.0, "with_gold": 1.0},
        "wrong": {**observation(given=True), "answerable": 1.0, "with_gold": 1.0},
        "drafted": {**observation(given=False, lost=FailureStage.REFUSED), **refused},
        "not found": {**observation(given=False, lost=FailureStage.NOT_FOUND), **refused},
        "unanswerable": observation(given=False),
    }
    figures = figures_of(rows)
    assert (figures["lost"].value, figures["lost"].n) == (0.5, 4)
    assert (figures["right_lost"].value, figures["right_lost"].n) == (0.25, 4)
    assert figures["lost"].better == figures["right_lost"].better == "lower"


def test_foreign_questions_have_a_figure_of_their_own() -> None:
    rows = {"a": observation(given=False), "b": observation(given=True)}
    asked = {key: {**row, "asked": 1.0} for key, row in rows.items()}
    (figure,) = measure_all({FOREIGN: asked})
    assert (figure.name, figure.value, figure.n) == ("foreign_refused", 0.5, 2)


def drafted(confidence: float, *, right: bool, answerable: bool = True) -> Observation:
    return {
        "confidence": confidence,
        "drafted": 1.0,
        "draft_right": float(right),
        "answerable": float(answerable),
    }


def test_one_run_tells_what_other_thresholds_would_say() -> None:
    rows = {
        "sure": drafted(0.9, right=True),
        "less sure": drafted(0.6, right=True),
        "wrong": drafted(0.5, right=False),
        "unanswerable": drafted(0.45, right=False, answerable=False),
        "nothing drafted": {**drafted(0.9, right=False), "drafted": 0.0},
    }
    found = {row.answer_from: row for row in measure_thresholds(rows)}
    assert list(found) == [0.4, 0.5, 0.6, 0.7, 0.8]
    assert [row.said_count for row in found.values()] == [4, 3, 2, 1, 1]
    said = [row.said_right and row.said_right[0] for row in found.values()]
    assert said == pytest.approx([2 / 4, 2 / 3, 1, 1, 1])
    answered_right = [row.answered_right and row.answered_right[0] for row in found.values()]
    assert answered_right == pytest.approx([2 / 4, 2 / 4, 2 / 4, 1 / 4, 1 / 4])
    at_half = found[0.5].said_right
    assert at_half is not None
    assert 0 <= at_half[1] < at_half[0] < at_half[2] <= 1


def test_a_threshold_that_nothing_reaches_has_no_share() -> None:
    found = measure_thresholds({"q": drafted(0.45, right=False, answerable=False)})
    assert (found[-1].said_count, found[-1].said_right, found[-1].answered_right) == (0, None, None)
    assert measure_thresholds({}) == ()
