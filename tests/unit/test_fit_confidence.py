"""The model of confidence is fitted on answers known to be right or wrong."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from corpus.errors import InvalidDataSet
from evaluation import fit_answerability
from evaluation.fit_answerability import Example, train_head
from evaluation.fit_confidence import ANSWERABLE, FOREIGN, UNANSWERABLE, Point, fit_calibration
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
        evidence = Evidence(level, match, answerability=0.0)
        states = drawn_states(draw, is_answered=kind == ANSWERABLE)
        made.append(Point(kind, f"d{number // 6}", evidence, kind == ANSWERABLE, (states,)))
    return made


def drawn_states(draw: np.random.Generator, *, is_answered: bool) -> NDArray[np.float32]:
    """Five tokens; where there is no answer one of them stands out."""
    states = draw.normal(0, 1, (5, 8)).astype(np.float32)
    if not is_answered:
        states[draw.integers(5), 0] += 4
    return states


def examples(count: int = 240) -> list[Example]:
    draw = np.random.default_rng(4)
    return [
        Example(f"d{n // 6}", drawn_states(draw, is_answered=n % 2 == 0), n % 2 == 0)
        for n in range(count)
    ]


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_answerability, "WEIGHT_DECAY", 0.01)
    monkeypatch.setattr(fit_answerability, "LEARNING_RATE", 0.02)


def test_a_head_learns_which_token_has_no_answer() -> None:
    head = train_head(examples())
    draw = np.random.default_rng(5)
    answered = [head.estimate(drawn_states(draw, is_answered=True)) for _ in range(100)]
    others = [head.estimate(drawn_states(draw, is_answered=False)) for _ in range(100)]
    assert np.mean([a > b for a in answered for b in others]) > 0.9


def test_the_same_seed_gives_the_same_head() -> None:
    states = drawn_states(np.random.default_rng(6), is_answered=True)
    first, second, other = (train_head(examples(60), seed=seed) for seed in (1, 1, 2))
    assert first.estimate(states) == second.estimate(states) != other.estimate(states)


def test_what_goes_with_right_answers_makes_them_surer() -> None:
    fitted = fit_calibration(points(), examples=examples(96), names=["made"])
    assert fitted.relevance > 0
    assert fitted.weakest_match > 0
    assert fitted.answerability > 0
    assert fitted.estimate(Evidence(5.0, 0.9, 3.0)) > 0.7
    assert fitted.estimate(Evidence(-6.0, 0.3, -3.0)) < 0.3


def test_the_figures_are_those_of_held_out_documents() -> None:
    told = fit_calibration(points(), examples=examples(96), names=["made"]).provenance
    assert told["data_sets"] == ["made"]
    assert told["questions"] == {"answerable": 80, "unanswerable": 80, "foreign": 80}
    figures = told["cross_validated"]
    assert 0.8 < figures["auroc"] <= 1
    assert 0 <= figures["ece"] < 0.2
    assert figures["foreign_refused_below_0.2"] > figures["answerable_refused_below_0.2"]


def test_a_feature_that_speaks_against_an_answer_is_left_out() -> None:
    turned = [
        replace(p, evidence=replace(p.evidence, weakest_match=-p.evidence.weakest_match))
        for p in points()
    ]
    without, fitted = (
        fit_calibration(given, examples=examples(96), names=["made"])
        for given in (turned, points())
    )
    assert without.weakest_match == 0.0
    # The others are fitted without it: what it left to the intercept would make all less sure.
    told = [each.provenance["cross_validated"]["ece"] for each in (without, fitted)]
    assert told[0] < told[1] + 0.05


@pytest.mark.parametrize("few", [[], points()[:5], points()[1::3]], ids=["none", "few", "wrong"])
def test_too_little_to_learn_from_is_refused(few: list[Point]) -> None:
    with pytest.raises(InvalidDataSet, match="subjects are needed"):
        fit_calibration(few, examples=examples()[:4], names=["made"])
