"""The metrics of an evaluation, and how each is computed from observations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics import (
    Array,
    Statistic,
    area_under_risk,
    auroc,
    bootstrap_interval,
    expected_calibration_error,
)
from evaluation.results import (
    ANSWERS,
    FOREIGN,
    RETRIEVAL,
    FailureStage,
    Figure,
    Observation,
    Observations,
    Share,
    ThresholdRow,
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of the observations of one mode.

    Attributes:
        columns: Columns of an observation. The last one tells whether the question counts.
        better: ``higher`` or ``lower``.
    """

    name: str
    label: str
    mode: str
    columns: tuple[str, ...]
    statistic: Statistic
    better: str = "higher"

    def rows(self, observations: Mapping[str, Observation], ids: Sequence[str]) -> Array:
        """Return shape (n, c), one row for each question in the order of ``ids``."""
        values = [[observations[key][name] for name in self.columns] for key in ids]
        return np.array(values, np.float64).reshape(len(ids), len(self.columns))

    def compute(self, observations: Mapping[str, Observation]) -> Figure:
        rows = self.rows(observations, list(observations))
        value = self.statistic(rows)
        bearing = int((rows[:, -1] > 0).sum())
        named = self.name, self.label, self.mode
        if np.isnan(value):
            return Figure(*named, None, None, None, bearing, self.better)
        low, high = bootstrap_interval(rows, self.statistic)
        return Figure(*named, value, low, high, bearing, self.better)


def _ratio(rows: Array) -> float:
    """Return the sum of the first column over that of the second."""
    whole = rows[:, 1].sum()
    return float(rows[:, 0].sum() / whole) if whole else float("nan")


def _median_of_given(rows: Array) -> float:
    answered = rows[rows[:, 1] > 0]
    return float(np.median(answered[:, 0])) if answered.size else float("nan")


def _of_counted(statistic: Callable[[Array, Array], float]) -> Statistic:
    """Apply a statistic of two columns to the rows whose third column counts them."""

    def compute(rows: Array) -> float:
        counted = rows[rows[:, 2] > 0]
        return statistic(counted[:, 0], counted[:, 1])

    return compute


# Measured over all questions; an abstention's confidence is the one pkb gave it.
_RETRIEVAL = (
    Measure("ndcg", "nDCG@10", RETRIEVAL, ("ndcg", "asked"), _ratio),
    Measure("mrr", "MRR@10", RETRIEVAL, ("mrr", "asked"), _ratio),
    Measure("recall", "recall@k", RETRIEVAL, ("recall", "asked"), _ratio),
    Measure(
        "passage_mrr",
        "MRR@10 of the answer's passage",
        RETRIEVAL,
        ("passage_rr", "with_gold"),
        _ratio,
    ),
)
_SHARES = (
    ("said_right", "right, of all that was said", "right", "answered", "higher"),
    ("answered_right", "answered right, of the answerable", "right", "answerable", "higher"),
    ("shown", "right passage cited or shown as close", "shown", "with_gold", "higher"),
    ("short_em", "short answer, exact match", "short_em", "short_given", "higher"),
    ("short_f1", "short answer, F1 of words", "short_f1", "short_given", "higher"),
    ("em", "exact match", "em", "with_gold", "higher"),
    ("f1", "F1 of words", "f1", "with_gold", "higher"),
    ("lost", "answerable, refused or unsure", "refused_answerable", "answerable", "lower"),
    ("right_lost", "right answer drafted, not said", "lost_refused_right", "with_gold", "lower"),
    ("contains_gold", "contains the gold answer", "contains", "with_gold", "higher"),
    ("contains_given", "same, of the answers given", "contains", "given_with_gold", "higher"),
    ("citation_precision", "citation precision (gold document)", "cited_gold", "cited", "higher"),
    ("citation_recall", "citation recall (gold document)", "cites_gold", "with_doc", "higher"),
    ("verbatim_violations", "citations that are not verbatim", "altered", "quoted", "lower"),
    ("refusal_precision", "refusal precision", "refused_rightly", "refused", "higher"),
    ("refusal_recall", "refusal recall", "refused_rightly", "unanswerable", "higher"),
)
_ANSWERS = (
    *(
        Measure(name, label, ANSWERS, (part, whole), _ratio, better)
        for name, label, part, whole, better in _SHARES
    ),
    Measure("words", "words of an answer, median", ANSWERS,
            ("words", "answered"), _median_of_given, "lower"),
    Measure("auroc", "AUROC of confidence, answerable or not", ANSWERS,
            ("confidence", "answerable", "asked"), _of_counted(auroc)),
    Measure("ece", "expected calibration error", ANSWERS,
            ("confidence", "right", "answered"), _of_counted(expected_calibration_error), "lower"),
    Measure("aurc", "area under risk and coverage", ANSWERS,
            ("confidence", "right", "answered"), _of_counted(area_under_risk), "lower"),
)  # fmt: skip
_FOREIGN = (
    Measure("foreign_refused", "foreign questions, refused or unsure", FOREIGN,
            ("refused", "asked"), _ratio),
)  # fmt: skip
MEASURES = (*_RETRIEVAL, *_ANSWERS, *_FOREIGN)


def measure_all(observations: Observations) -> tuple[Figure, ...]:
    """Return all metrics of the modes that ran, in the order of ``MEASURES``."""
    return tuple(
        measure.compute(observations[measure.mode])
        for measure in MEASURES
        if observations.get(measure.mode)
    )


# Counts for each kind of question, in display order.
BY_KIND = ("asked", "right", "wrong", "refused", *map(str, FailureStage))


def count_by_kind(
    observed: Mapping[str, Observation], kinds: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Return for each kind how many questions were right, and where others were lost.

    Args:
        kinds: Kind by question id.

    Returns:
        By kind, in order of appearance: ``asked``, ``right``, ``wrong``, ``refused``, and how
        many right answers were lost at each ``FailureStage``. These also count as wrong or refused.
    """
    counts_of: dict[str, dict[str, int]] = {}
    for key, row in observed.items():
        counts = counts_of.setdefault(kinds[key], dict.fromkeys(BY_KIND, 0))
        counts["asked"] += 1
        counts["right"] += int(row["right"])
        counts["wrong"] += int(row["answered"] - row["right"])
        counts["refused"] += int(row["refused"])
        for loss in FailureStage:
            counts[loss] += int(row[f"lost_{loss}"])
    return counts_of


# Values of PKB_ANSWER_FROM around the default.
ANSWER_FROM = (0.4, 0.5, 0.6, 0.7, 0.8)


def measure_thresholds(observed: Mapping[str, Observation]) -> tuple[ThresholdRow, ...]:
    """Return answer rate and accuracy for several ``PKB_ANSWER_FROM``.

    Withheld answers are judged by their drafts, so one run covers all thresholds. A question in
    parts, which has no draft of its own, counts only if answered.
    """
    if not observed:
        return ()
    columns = ("confidence", "drafted", "draft_right", "answerable")
    rows = np.array([[row[name] for name in columns] for row in observed.values()], np.float64)
    table = []
    for threshold in ANSWER_FROM:
        is_said = (rows[:, 1] > 0) & (rows[:, 0] >= threshold)
        shares: list[Share | None] = []
        for whole in (is_said, rows[:, 3]):
            pairs = np.column_stack([is_said * rows[:, 2], whole]).astype(np.float64)
            share = (_ratio(pairs), *bootstrap_interval(pairs, _ratio))
            shares.append(None if np.isnan(share).any() else share)
        table.append(ThresholdRow(threshold, int(is_said.sum()), *shares))
    return tuple(table)


def measure_timings(observations: Observations) -> dict[str, dict[str, float]]:
    """Return median and 95th percentile of each timing, in ms."""
    timings: dict[str, dict[str, float]] = {}
    for mode, by_question in observations.items():
        rows = list(by_question.values())
        names = dict.fromkeys(name for row in rows for name in row if name.endswith("_ms"))
        for name in names:
            times = [row[name] for row in rows if name in row]
            p50, p95 = np.quantile(times, (0.5, 0.95))
            node = f"{mode}.{name.removesuffix('_ms')}"
            timings[node] = {"p50_ms": round(float(p50), 1), "p95_ms": round(float(p95), 1)}
    return timings
