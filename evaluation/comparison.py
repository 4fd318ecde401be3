"""Compare two evaluations of the same questions, with significance tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus.errors import InvalidDataSet
from evaluation.figures import MEASURES
from evaluation.metrics import paired_p_value
from evaluation.results import Observations, Result

# Default tolerance as a share of the range: a little more than two of the 27 questions of
# data/evaluation.
DEFAULT_TOLERANCE = 0.08
# A smaller regression counts if its p-value is below this: many metrics are compared.
SIGNIFICANT_BELOW = 0.01


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric under two configurations, over the questions of both.

    Attributes:
        p: Two-sided p-value of the paired randomization test.
        n: Questions of both.
    """

    name: str
    label: str
    before: float
    after: float
    p: float
    n: int
    better: str

    @property
    def change(self) -> float:
        return self.after - self.before

    @property
    def loss(self) -> float:
        """Return how much worse it became; negative if better."""
        return self.change if self.better == "lower" else -self.change


@dataclass(frozen=True, slots=True)
class Regression:
    """A metric that fell below its baseline."""

    difference: Difference
    tolerance: float

    def __str__(self) -> str:
        difference = self.difference
        reason = (
            f"more than {self.tolerance:.3f}"
            if difference.loss > self.tolerance
            else f"p {difference.p:.3f}, below {SIGNIFICANT_BELOW}"
        )
        figures = f"{difference.before:.3f} -> {difference.after:.3f}"
        return f"{difference.label}: {figures} ({reason}, n {difference.n})"


def compare(before: Observations, after: Observations) -> list[Difference]:
    """Return the difference of every metric that both have, in their order."""
    differences = []
    for measure in MEASURES:
        first, second = before.get(measure.mode, {}), after.get(measure.mode, {})
        shared = [key for key in first if key in second]
        if not shared:
            continue
        rows = measure.rows(first, shared), measure.rows(second, shared)
        values = measure.statistic(rows[0]), measure.statistic(rows[1])
        if np.isnan(values).any():
            continue
        p = 1.0 if np.array_equal(*rows) else paired_p_value(*rows, measure.statistic)
        differences.append(
            Difference(measure.name, measure.label, *values, p, len(shared), measure.better)
        )
    return differences


def find_regressions(baseline: Mapping[str, Any], result: Result) -> list[Regression]:
    """Return metrics worse than the baseline beyond tolerance, or significantly.

    Raises:
        InvalidDataSet: The baseline is invalid, or has other questions.
    """
    try:
        observations, tolerances = baseline["observations"], baseline["tolerances"]
        differences = compare(observations, result.observations)
        falls = [
            Regression(difference, float(tolerances.get(difference.name, DEFAULT_TOLERANCE)))
            for difference in differences
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as exc:
        raise InvalidDataSet(f"The baseline is not one of manage.py evaluate: {exc!r}") from exc
    if not differences:
        raise InvalidDataSet("The baseline has no question in common with this evaluation.")
    return [
        fall
        for fall in falls
        if fall.difference.loss > fall.tolerance
        or (fall.difference.loss > 0 and fall.difference.p < SIGNIFICANT_BELOW)
    ]


def make_baseline(result: Result, *, previous: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the baseline for later evaluations; keep tolerances of an older one."""
    tolerances = (previous or {}).get("tolerances", {})
    needed = {measure.mode: set[str]() for measure in MEASURES}
    for measure in MEASURES:
        needed[measure.mode] |= set(measure.columns)
    return {
        "dataset": result.dataset,
        "created_at": result.created_at,
        "k": result.k,
        "settings": dict(result.settings),
        "figures": {f.name: f.value and round(f.value, 4) for f in result.figures},
        "tolerances": {f.name: tolerances.get(f.name, DEFAULT_TOLERANCE) for f in result.figures},
        "observations": {
            mode: {
                key: {name: round(row[name], 4) for name in sorted(needed[mode])}
                for key, row in rows.items()
            }
            for mode, rows in result.observations.items()
        },
    }
