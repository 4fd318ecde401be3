"""Judge confidences against what was right: pure functions over a sample of answers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BIN_COUNT = 10

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers with confidence in ``[low, high)``; the last bin has its upper end too."""

    low: float
    high: float
    count: int
    mean_confidence: float
    right_share: float


def reliability_bins(confidence: Array, right: Array) -> list[Bin]:
    """Return the bins of equal width that hold an answer, in order."""
    places = np.minimum((confidence * BIN_COUNT).astype(int), BIN_COUNT - 1)
    bins = []
    for place in np.unique(places):
        here = places == place
        low, high = place / BIN_COUNT, (place + 1) / BIN_COUNT
        means = float(confidence[here].mean()), float(right[here].mean())
        bins.append(Bin(float(low), float(high), int(here.sum()), *means))
    return bins


def expected_calibration_error(confidence: Array, right: Array) -> float:
    """Return the mean distance of confidence and share of right answers, over bins; in [0, 1].

    Source: Guo et al., On Calibration of Modern Neural Networks, ICML 2017.
    """
    if not len(confidence):
        return float("nan")
    places = np.minimum((confidence * BIN_COUNT).astype(int), BIN_COUNT - 1)
    gaps = np.bincount(places, weights=confidence - right, minlength=BIN_COUNT)
    return float(np.abs(gaps).sum() / len(confidence))


def auroc(score: Array, positive: Array) -> float:
    """Return the chance that a positive scores above a negative, ties counting half.

    Not a number where either kind is missing.
    """
    is_positive = positive > 0
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives:
        return float("nan")
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    ranks = (ends - (counts - 1) / 2)[place]
    wins = ranks[is_positive].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def risk_coverage(confidence: Array, right: Array) -> tuple[Array, Array]:
    """Return coverage and risk as ever less sure answers are let in, both shape (n,).

    Risk is the share of wrong ones among the answers so far. Answers of the same confidence are
    let in together: their order says nothing.
    """
    order = np.argsort(-confidence, kind="stable")
    sure, wrong = confidence[order], 1 - right[order]
    counts = np.arange(1, len(sure) + 1)
    risk = wrong.cumsum() / counts
    last = np.searchsorted(-sure, -sure, side="right") - 1
    return counts / max(1, len(sure)), risk[last]


def area_under_risk(confidence: Array, right: Array) -> float:
    """Return the mean risk over all coverages (AURC), in [0, 1]; small is good.

    Source: Geifman and El-Yaniv, Selective Classification for Deep Neural Networks, NeurIPS 2017.
    """
    if not len(confidence):
        return float("nan")
    return float(risk_coverage(confidence, right)[1].mean())
