"""The model of confidence is fitted on answers known to be right or wrong."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from corpus.errors import InvalidDataSet
from evaluation.datasets import GoldDocument, GoldQuestion
from evaluation.fit_confidence import (
    ALWAYS_SURE,
    ANSWERABLE,
    FOREIGN,
    UNANSWERABLE,
    Point,
    fit_calibration,
    group_of,
)
from qa.types import Evidence


def points(count: int = 240) -> list[Point]:
    """Right answers mostly read better, are less far behind, and farther ahead, than wrong ones."""
    draw = np.random.default_rng(3)
    kinds = [ANSWERABLE, UNANSWERABLE, FOREIGN]
    made = []
    for number in range(count):
        kind = kinds[number % 3]
        reading = {ANSWERABLE: 4.0, UNANSWERABLE: 2.0, FOREIGN: -6.0}[kind] + draw.normal(0, 2)
        behind = {ANSWERABLE: -0.1, UNANSWERABLE: -0.3, FOREIGN: -0.5}[kind] + draw.normal(0, 0.1)
        ahead = {ANSWERABLE: 4.0, UNANSWERABLE: 2.0, FOREIGN: 2.0}[kind] + draw.normal(0, 2)
        evidence = Evidence(reading, behind, ahead)
        made.append(Point(kind, f"d{number // 6}", evidence, is_right=kind == ANSWERABLE))
    return made


def changed(change: Callable[[Evidence], Evidence]) -> list[Point]:
    return [replace(point, evidence=change(point.evidence)) for point in points()]


def test_what_goes_with_right_answers_makes_them_surer() -> None:
    fitted = fit_calibration(points(), names=["made"])
    assert all(weight > 0 for weight in fitted.weights.values())
    assert fitted.estimate(Evidence(5.0, 0.0, 5.0)) > 0.7
    assert fitted.estimate(Evidence(-6.0, -0.6, 1.0)) < 0.3


def test_the_figures_are_those_of_held_out_subjects() -> None:
    told = fit_calibration(points(), names=["made"]).provenance
    assert told["data_sets"] == ["made"]
    assert told["questions"] == {"answerable": 80, "unanswerable": 80, "foreign": 80}
    figures = told["held_out"]
    assert 0.8 < figures["auroc_right"] <= 1
    assert 0.7 < figures["auroc_answerable_from_unanswerable"] < figures["auroc_right"]
    assert 0 <= figures["ece"] < 0.2
    assert figures["said_right_from_0.7"] > figures["said_right_from_0.3"]
    assert figures["answered_right_from_0.7"] < figures["answered_right_from_0.3"]


def test_a_foreign_question_counts_less_than_an_own_one() -> None:
    as_own = [replace(p, kind=UNANSWERABLE if p.kind == FOREIGN else p.kind) for p in points()]
    middle = Evidence(0.0, -0.3, 2.0)
    less, more = (fit_calibration(given, names=[]).estimate(middle) for given in (points(), as_own))
    assert less > more


def test_a_feature_that_speaks_against_an_answer_is_left_out() -> None:
    turned = changed(lambda found: replace(found, behind=-found.behind))
    constant = changed(lambda found: replace(found, behind=0.0))
    without, fitted = (fit_calibration(given, names=[]) for given in (turned, constant))
    assert without.weights["behind"] == 0.0
    # The other is fitted without it: what it left to the intercept would make all less sure.
    assert without.weights["reading"] == pytest.approx(fitted.weights["reading"], rel=0.01)
    assert without.intercept == pytest.approx(fitted.intercept, rel=0.01)


def test_signs_that_all_speak_against_right_answers_are_refused() -> None:
    with pytest.raises(InvalidDataSet, match="No sign of a right answer"):
        fit_calibration(
            changed(lambda e: Evidence(-e.reading, -e.behind, -e.ahead)), names=["made"]
        )


@pytest.mark.parametrize("few", [[], points()[:5], points()[1::3]], ids=["none", "few", "wrong"])
def test_too_little_to_learn_from_is_refused(few: list[Point]) -> None:
    with pytest.raises(InvalidDataSet, match="subjects are needed"):
        fit_calibration(few, names=["made"])


def test_right_answers_of_one_subject_alone_are_refused() -> None:
    lone = [replace(point, is_right=point.is_right and point.group == "d0") for point in points()]
    with pytest.raises(InvalidDataSet):
        fit_calibration(lone, names=["made"])


def test_the_subject_of_a_question_is_its_documents_title() -> None:
    documents = {
        "d1": GoldDocument("d1", "Normans", "They came."),
        "d2": GoldDocument("d2", "", "They went."),
    }
    asked = [GoldQuestion("q", "Who?", (), ids) for ids in (("d1",), ("d2",), ("gone",), ())]
    assert [group_of(each, documents) for each in asked] == ["Normans", "d2", "Who?", "Who?"]


def test_while_points_are_gathered_all_is_as_sure() -> None:
    assert ALWAYS_SURE.estimate(Evidence(-9.0, -1.0, 0.0)) == ALWAYS_SURE.estimate(
        Evidence(9.0, 0.0, 9.0)
    )
