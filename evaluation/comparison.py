"""Tell two evaluations of the same questions apart: by chance, or in truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus.errors import InvalidDataSet
from evaluation.figures import MEASURES, Measure
from evaluation.metrics import paired_p_value
from evaluation.results import Observations, Result

# Share of its range that a figure may fall by before it counts, unless the baseline says
# otherwise: a little more than two of the 27 questions of data/evaluation.
DEFAULT_TOLERANCE = 0.08
# A smaller fall counts too if chance explains it this rarely: there are many figures to look at.
SIGNIFICANT_BELOW = 0.01


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure under two configurations, over the questions that both were asked.

    Attributes:
        p: Of the paired randomization test, two-sided.
        n: Questions that were asked of both.
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
        """How much worse it became; below 0 where it became better."""
        return self.change if self.better == "lower" else -self.change


@dataclass(frozen=True, slots=True)
class Regression:
    """A figure that fell below its baseline."""

    difference: Difference
    tolerance: float

    def __str__(self) -> str:
        seen = self.difference
        reason = (
            f"more than {self.tolerance:.3f}"
            if seen.loss > self.tolerance
            else f"p {seen.p:.3f}, below {SIGNIFICANT_BELOW}"
        )
        return f"{seen.label}: {seen.before:.3f} -> {seen.after:.3f} ({reason}, n {seen.n})"


def compare(before: Observations, after: Observations) -> list[Difference]:
    """Return the difference of every figure that both have, in the order of the figures."""
    found = (_compare_one(measure, before, after) for measure in MEASURES)
    return [difference for difference in found if difference is not None]


def _compare_one(measure: Measure, before: Observations, after: Observations) -> Difference | None:
    first, second = before.get(measure.mode, {}), after.get(measure.mode, {})
    shared = [key for key in first if key in second]
    if not shared:
        return None
    rows = measure.rows(first, shared), measure.rows(second, shared)
    values = measure.statistic(rows[0]), measure.statistic(rows[1])
    if np.isnan(values).any():
        return None
    p = 1.0 if np.array_equal(*rows) else paired_p_value(*rows, measure.statistic)
    return Difference(measure.name, measure.label, *values, p, len(shared), measure.better)


def find_regressions(baseline: Mapping[str, Any], result: Result) -> list[Regression]:
    """Return what is worse than the baseline by more than its tolerance, or for certain.

    Raises:
        InvalidDataSet: The baseline is of other questions, or is none.
    """
    try:
        observations, tolerances = baseline["observations"], baseline["tolerances"]
        differences = compare(observations, result.observations)
        falls = [
            Regression(seen, float(tolerances.get(seen.name, DEFAULT_TOLERANCE)))
            for seen in differences
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as exc:
        raise InvalidDataSet(f"The baseline is not one of manage.py evaluate: {exc!r}") from exc
    if not differences:
        raise InvalidDataSet("The baseline has no question in common with this evaluation.")
    return [fall for fall in falls if _is_regression(fall)]


def _is_regression(fall: Regression) -> bool:
    seen = fall.difference
    is_certain = seen.loss > 0 and seen.p < SIGNIFICANT_BELOW
    return seen.loss > fall.tolerance or is_certain


def make_baseline(result: Result, *, previous: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what later evaluations are held against; tolerances of an older one are kept."""
    kept = (previous or {}).get("tolerances", {})
    needed = {measure.mode: set[str]() for measure in MEASURES}
    for measure in MEASURES:
        needed[measure.mode] |= set(measure.columns)
    return {
        "dataset": result.dataset,
        "created_at": result.created_at,
        "k": result.k,
        "settings": dict(result.settings),
        "figures": {f.name: f.value and round(f.value, 4) for f in result.figures},
        "tolerances": {f.name: kept.get(f.name, DEFAULT_TOLERANCE) for f in result.figures},
        "observations": {
            mode: {
                key: {name: round(row[name], 4) for name in sorted(needed[mode])}
                for key, row in rows.items()
            }
            for mode, rows in result.observations.items()
        },
    }
