"""What judged answers prove, and how they refit the confidence."""

import numpy as np
import pytest

from evaluation.judged_answers import Judgement, count_levels, fit_logits, refit
from qa.grounding.confidence import FEATURES, Calibration, logit, sigmoid
from qa.learned_confidence import LEVELS, MAX_CHANCE, Level, chance_of, choose_level, count_needed
from qa.types import Evidence


@pytest.mark.parametrize(
    ("wrong", "judged", "chance"),
    [(0, 0, 1.0), (0, 10, 0.8**10), (1, 2, 1 - 0.2**2), (5, 5, 1.0), (0, 3000, 0.0)],
)
def test_the_chance_is_the_binomial_one(wrong: int, judged: int, chance: float) -> None:
    assert chance_of(wrong, judged, risk=0.2) == pytest.approx(chance, abs=1e-9)


def test_the_lowest_level_that_proves_the_promise_is_chosen() -> None:
    levels = [Level(0.3, 90, 80, 25), Level(0.5, 60, 50, 2), Level(0.7, 40, 30, 0)]
    assert choose_level(levels, 20) == levels[1]
    assert choose_level(levels, 5) is None
    assert choose_level(levels, 50) == levels[0]


def test_as_many_judgements_as_are_said_to_be_needed_prove_it() -> None:
    level = Level(0.5, 0, 0, 0)
    needed = count_needed(level, 20)
    assert needed == 22
    assert choose_level([level._replace(judged=needed)], 20)
    assert not choose_level([level._replace(judged=needed - 1)], 20)


def test_no_number_proves_what_is_not_so() -> None:
    assert count_needed(Level(0.5, 0, 100, 25), 20) is None


def draw(count: int, *, offset: float, seed: int) -> list[Judgement]:
    """Judgements of which the shipped fit is off by ``offset`` logits, one in two a document."""
    random = np.random.default_rng(seed)
    estimates = random.uniform(0.05, 0.95, count)
    chances = [sigmoid(logit(each) + offset) for each in estimates]
    return [
        Judgement(float(estimate), bool(random.random() < chance), f"{at // 2}")
        for at, (estimate, chance) in enumerate(zip(estimates, chances, strict=True))
    ]


def test_a_promise_is_broken_as_seldom_as_it_says() -> None:
    broken = 0
    truth = count_levels(draw(40_000, offset=0.5, seed=1_000))
    for seed in range(400):
        level = choose_level(count_levels(draw(80, offset=0.5, seed=seed)), 20)
        if level is not None:
            same = truth[LEVELS.index(level.answer_from)]
            broken += same.wrong > 0.2 * same.judged
    assert broken <= MAX_CHANCE * 400


def test_a_fit_that_is_off_is_corrected() -> None:
    fit = refit(draw(200, offset=-1.5, seed=1))
    assert fit is not None
    assert fit.is_better
    assert fit.offset < -0.5
    assert fit.log_loss < fit.shipped_log_loss


def test_a_fit_that_is_right_mostly_stays() -> None:
    fits = [refit(draw(60, offset=0.0, seed=seed)) for seed in range(20)]
    assert sum(fit is not None and fit.is_better for fit in fits) <= 8


def test_few_judgements_move_the_fit_little() -> None:
    slope, offset = fit_logits(np.array([2.0, 1.0, 0.5]), np.zeros(3))
    assert 0.5 < slope < 1
    assert -0.6 < offset < 0


def test_judgements_of_one_kind_or_few_documents_fit_nothing() -> None:
    assert refit([]) is None
    assert refit([Judgement(0.5, True, str(at)) for at in range(9)]) is None
    assert refit([Judgement(0.5, at % 2 == 0, "one") for at in range(9)]) is None


def test_a_scaled_calibration_scales_the_logit() -> None:
    calibration = Calibration(dict.fromkeys(FEATURES, 0.2), -0.3, {})
    evidence = Evidence(3.0, behind=-0.1, ahead=2.0)
    scaled = calibration.scaled(0.8, -0.4).estimate(evidence)
    assert logit(scaled) == pytest.approx(0.8 * logit(calibration.estimate(evidence)) - 0.4)
