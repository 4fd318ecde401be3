"""The model of confidence is fitted on answers known to be right or wrong."""

import numpy as np
import pytest

from corpus.errors import InvalidDataSet
from evaluation.fitting import ANSWERABLE, FOREIGN, UNANSWERABLE, Point, fit_calibration
from qa.types import Evidence


def points(count: int = 240) -> list[Point]:
    """Right answers have greater relevance and match than wrong ones, not all of them."""
    draw = np.random.default_rng(3)
    kinds = [ANSWERABLE, UNANSWERABLE, FOREIGN]
    made = []
    for number in range(count):
        kind = kinds[number % 3]
        level = {ANSWERABLE: 4.0, UNANSWERABLE: 2.0, FOREIGN: -6.0}[kind] + draw.normal(0, 2)
        match = {ANSWERABLE: 0.8, UNANSWERABLE: 0.6, FOREIGN: 0.4}[kind] + draw.normal(0, 0.1)
        made.append(Point(kind, f"d{number // 6}", Evidence(level, match), kind == ANSWERABLE))
    return made


def test_what_goes_with_right_answers_makes_them_surer() -> None:
    fitted = fit_calibration(points(), names=["made"])
    assert fitted.relevance > 0
    assert fitted.weakest_match > 0
    assert fitted.estimate(Evidence(5.0, 0.9)) > 0.7
    assert fitted.estimate(Evidence(-6.0, 0.3)) < 0.3


def test_the_figures_are_those_of_held_out_documents() -> None:
    told = fit_calibration(points(), names=["made"]).provenance
    assert told["data_sets"] == ["made"]
    assert told["questions"] == {"answerable": 80, "unanswerable": 80, "foreign": 80}
    figures = told["cross_validated"]
    assert 0.8 < figures["auroc"] <= 1
    assert 0 <= figures["ece"] < 0.2
    assert figures["foreign_refused_below_0.2"] > figures["answerable_refused_below_0.2"]


def test_a_feature_that_speaks_against_an_answer_is_left_out() -> None:
    turned = [
        Point(
            p.kind, p.group, Evidence(p.evidence.relevance, -p.evidence.weakest_match), p.is_right
        )
        for p in points()
    ]
    assert fit_calibration(turned, names=["made"]).weakest_match == 0.0


@pytest.mark.parametrize("few", [[], points()[:5], points()[1::3]], ids=["none", "few", "wrong"])
def test_too_little_to_learn_from_is_refused(few: list[Point]) -> None:
    with pytest.raises(InvalidDataSet, match="documents are needed"):
        fit_calibration(few, names=["made"])
