"""The figures, each on an example that can be worked out by hand."""

import math

import numpy as np
import pytest

from evaluation.metrics import (
    Array,
    area_under_risk,
    auroc,
    bootstrap_interval,
    contains_gold,
    exact_match,
    expected_calibration_error,
    judge_ranking,
    paired_p_value,
    reliability_bins,
    risk_coverage,
    token_f1,
)


def mean(rows: Array) -> float:
    return float(rows[:, 0].mean())


def column(*values: float) -> Array:
    return np.array(values, np.float64)[:, None]


def test_a_ranking_is_judged_by_rank_and_grade() -> None:
    judged = judge_ranking(["x", "good", "y", "fair"], {"good": 2, "fair": 1}, k=3)
    ideal = 2 + 1 / math.log2(3)
    assert judged["ndcg"] == pytest.approx((2 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert judged["mrr"] == 0.5
    assert judged["recall"] == judged["recall@3"] == 0.5
    assert judged["recall@1"] == 0
    assert judged["recall@5"] == 1


def test_equal_places_are_never_broken_by_id() -> None:
    assert judge_ranking(["b", "a"], {"b": 1}, k=1)["recall"] == 1
    assert judge_ranking(["a", "b"], {"a": 1}, k=1)["recall"] == 1


def test_mrr_ends_at_ten() -> None:
    ranking = [f"d{rank}" for rank in range(1, 13)]
    assert judge_ranking(ranking, {"d10": 1}, k=12)["mrr"] == pytest.approx(0.1)
    assert judge_ranking(ranking, {"d11": 1}, k=12)["mrr"] == 0
    assert judge_ranking(ranking, {"d11": 1}, k=12)["recall"] == 1


def test_nothing_found_is_zero() -> None:
    assert set(judge_ranking([], {"d": 1}, k=10).values()) == {0.0}


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("The tower is 330 metres tall.", ["330 metres"], 1),
        ("The tower is 1330 metres tall.", ["330 metres"], 0),
        ("It is An  Engineer", ["the engineer"], 1),
        ("塔高三百三十米。", ["三百三十米"], 1),
        ("塔高三百米。", ["三百三十米"], 0),
        ("", ["330 metres"], 0),
        ("anything", [], 0),
        ("anything", ["..."], 0),
    ],
    ids=["word", "number", "articles", "chinese", "chinese-no", "empty", "no-gold", "bare"],
)
def test_a_gold_answer_is_found_by_whole_words(
    answer: str, gold: list[str], expected: float
) -> None:
    assert contains_gold(answer, gold) == expected


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("Purchases of property 1,577 and 1,373", "$1577.00", 1),
        ("It cost $1577.00 in all.", "1,577", 1),
        ("It cost 1,577.00 in all.", "1577", 1),
        ("12,645,000 shares", "12645000.0", 0),
        ("12,645,000 shares", "12645000.00", 1),
        ("8.70 a share", "$8.7", 1),
        ("0.4 billion", "$0.40", 1),
        ("a rise of 5.10 per cent", "5.1%", 1),
        ("a rise of 5.1 %", "5.1 percent", 1),
        ("It lasts 30 days.", "30%", 0),
        ("It is 15.", "1.5", 0),
        ("It is 1.5.", "15", 0),
        ("It is 1.5.", "5", 0),
        ("1,577 and 577", "577", 1),
        ("in 1,577", "577", 0),
        ("Since version 1.10 it is so.", "1.1", 0),
        ("Since version 1.1 it is so.", "1.10", 0),
        ("at 10.0.0.10", "10.0.0.1", 0),
        ("in 2018,2019 and 2020", "2019", 1),
        ("in 1984.", "1984", 1),
        ("1,5 litres", "15", 0),
        ("12 345,67", "12 345", 1),
        ("from 100,200,300 to 400", "100200300", 1),
        ("100, 200, 300", "200", 1),
        ("塔高330.5米。", "330.5", 1),
        # Only a hyphen before a number is a minus.
        ("It is -5 degrees.", "-5", 1),
        ("It is \u22125 degrees.", "-5", 1),
        ("It is -5 degrees.", "5", 0),
        ("It is 5 degrees.", "-5", 0),
        ("a loss of -$473 million", "$-473 million", 1),
        ("a gain of $473 million", "-$473 million", 0),
        ("for 3-5 days", "5", 1),
        ("for 3-5 days", "-5", 0),
        ("COVID-19", "19", 1),
        ("in 1972 - 1974", "1974", 1),
        # Only of an amount zeros say nothing.
        ("$2.00", "2", 1),
        ("2 dollars", "2.00", 1),
        ("USD 8.70", "8.7", 1),
        ("8.70 EUR", "8.7", 1),
        ("8.70 €", "8.7", 1),
        ("8.7", "USD 8.70", 1),
        ("5.10 million", "5.1 million", 1),
        ("1577.00", "1577", 1),
        ("2.00", "2", 0),
        ("Section 4.00", "Section 4", 0),
        ("version 1.10 costs $5", "1.1", 0),
        ("paid in EUR", "EUR", 1),
    ],
)  # fmt: skip
def test_a_number_is_the_same_however_it_is_written(
    answer: str, gold: str, expected: float
) -> None:
    assert contains_gold(answer, [gold]) == expected


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        (".5", "0.5", 1),
        (".5", "5", 0),
        ("-.5", "-0.5", 1),
        ("10\u00b2", "102", 0),
        ("10\u00b2", "10^2", 1),
        ("5\u00bd", "5 1/2", 1),
        ("km\u00b2", "km2", 1),
    ],
)  # fmt: skip
def test_a_points_place_and_raised_digits_count(answer: str, gold: str, expected: float) -> None:
    assert exact_match(answer, [gold]) == expected


def test_nothing_is_no_answer() -> None:
    for answer in ("", "the", "..."):
        assert exact_match(answer, ["the"]) == 0
        assert contains_gold(answer, ["the"]) == 0
        assert token_f1(answer, ["the"]) == 0


def test_exact_match_and_f1_read_numbers_as_well() -> None:
    assert exact_match("1,577", ["$1577.00"]) == 1
    assert token_f1("about 1,577", ["$1577.00"]) == pytest.approx(2 / 3)
    assert exact_match("v2.0", ["2"]) == 0


def test_exact_match_and_f1_take_the_best_gold_answer() -> None:
    assert exact_match("The Eiffel tower!", ["Paris", "eiffel tower"]) == 1
    assert exact_match("Eiffel tower of Paris", ["eiffel tower"]) == 0
    assert token_f1("red green", ["blue", "red yellow"]) == pytest.approx(0.5)
    assert token_f1("red", []) == 0


def test_calibration_error_weighs_bins_by_their_answers() -> None:
    confidence, right = np.array([0.95, 0.95, 0.15, 0.15]), np.array([1.0, 0.0, 0.0, 0.0])
    # |.95 - .5| and |.15 - 0|, half of the answers each.
    assert expected_calibration_error(confidence, right) == pytest.approx(0.3)
    low, high = reliability_bins(confidence, right)
    assert (low.count, low.right_share, high.right_share) == (2, 0, 0.5)
    assert high.mean_confidence == pytest.approx(0.95)


def test_full_confidence_falls_into_the_last_bin() -> None:
    (found,) = reliability_bins(np.array([1.0]), np.array([1.0]))
    assert (found.low, found.high) == (0.9, 1.0)


def test_auroc_is_that_of_scikit_learn_with_ties() -> None:
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 -- seconds, for every process

    random = np.random.default_rng(3)
    positive = random.integers(0, 2, 200).astype(float)
    score = np.round(random.random(200) + positive / 4, 1)
    assert auroc(score, positive) == pytest.approx(roc_auc_score(positive, score))
    assert math.isnan(auroc(score, np.ones(200)))


def test_risk_grows_as_wrong_answers_are_let_in() -> None:
    confidence, right = np.array([0.2, 0.9, 0.8]), np.array([0.0, 1.0, 1.0])
    coverage, risk = risk_coverage(confidence, right)
    assert coverage == pytest.approx([1 / 3, 2 / 3, 1])
    assert risk == pytest.approx([0, 0, 1 / 3])
    assert area_under_risk(confidence, right) == pytest.approx(1 / 9)
    assert area_under_risk(np.array([0.5, 0.5]), np.array([0.0, 1.0])) == 0.5


@pytest.mark.parametrize(
    "statistic", [expected_calibration_error, area_under_risk], ids=["ece", "aurc"]
)
def test_no_answer_has_no_figure(statistic: object) -> None:
    assert callable(statistic)
    assert math.isnan(statistic(np.array([]), np.array([])))


def test_the_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few = bootstrap_interval(column(*[0, 1] * 10), mean)
    many = bootstrap_interval(column(*[0, 1] * 500), mean)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    # Of 1000 coin throws: .5 within two standard errors of .016.
    assert many == pytest.approx((0.469, 0.531), abs=0.006)
    assert bootstrap_interval(column(1, 1, 1), mean) == (1, 1)


def test_the_paired_test_tells_a_steady_gain_from_chance() -> None:
    random = np.random.default_rng(1)
    before = random.random(60)[:, None]
    assert paired_p_value(before, before + 0.01, mean) < 0.01
    noise = random.normal(0, 0.1, 60)[:, None]
    assert paired_p_value(before, before + noise - noise.mean() + 0.001, mean) > 0.5
    assert paired_p_value(before, before, mean) == 1


def test_the_paired_test_is_exact_where_it_can_be_counted() -> None:
    # Three questions that all gain: of 8 ways to swap, 2 move the mean as far.
    p = paired_p_value(column(0, 0, 0), column(1, 1, 1), mean, rounds=20_000)
    assert p == pytest.approx(0.25, abs=0.015)


def test_a_statistic_that_is_none_has_no_interval_and_no_p_value() -> None:
    def undefined(rows: Array) -> float:
        return math.nan

    assert all(map(math.isnan, bootstrap_interval(column(1, 2), undefined, rounds=3)))
    assert math.isnan(paired_p_value(column(1), column(2), undefined, rounds=3))
