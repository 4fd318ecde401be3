"""The plots of a result, as PNG."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import numpy as np

from evaluation.calibration import reliability_bins, risk_coverage
from evaluation.results import ANSWERS, RETRIEVAL, Observation, Result

WIDTH_IN, HEIGHT_IN, DPI = 5.6, 4.0, 110

Axes = Any
Drawing = Callable[[Axes, Result], None]


def draw_plots(result: Result) -> dict[str, bytes]:
    """Return the PNG of each plot that the result has something for, by file name."""
    plots: dict[str, tuple[str, Drawing]] = {}
    if result.observations.get(RETRIEVAL):
        plots["recall"] = "Recall at k", _draw_recall
    if _given(result.observations.get(ANSWERS, {})):
        plots["reliability"] = "Confidence and share of right answers", _draw_reliability
        plots["risk_coverage"] = "Risk and coverage", _draw_risk
    if result.timings:
        plots["latency"] = "Time by node", _draw_latency
    return {f"{name}.png": _draw(result, title, draw) for name, (title, draw) in plots.items()}


def _draw(result: Result, title: str, draw: Drawing) -> bytes:
    # A figure without pyplot: nothing global is left behind, and no display is looked for.
    from matplotlib.figure import Figure  # noqa: PLC0415  (it takes half a second to import)

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    draw(axes, result)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    image = BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()


def _draw_recall(axes: Axes, result: Result) -> None:
    rows = list(result.observations[RETRIEVAL].values())
    depths = sorted(int(name.removeprefix("recall@")) for name in rows[0] if "@" in name)
    means = [np.mean([row[f"recall@{depth}"] for row in rows]) for depth in depths]
    axes.plot(depths, means, marker="o")
    axes.set(xlabel="k, documents", ylabel="mean recall", ylim=(0, 1.02))


def _given(rows: Mapping[str, Observation]) -> list[Observation]:
    return [row for row in rows.values() if row["answered"]]


def _confidence_and_right(result: Result) -> tuple[Any, Any]:
    rows = _given(result.observations[ANSWERS])
    pairs = np.array([[row["confidence"], row["right"]] for row in rows])
    return pairs[:, 0], pairs[:, 1]


def _draw_reliability(axes: Axes, result: Result) -> None:
    bins = reliability_bins(*_confidence_and_right(result))
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", linewidth=1)
    for found in bins:
        axes.bar(found.low, found.right_share, width=0.1, align="edge", alpha=0.5, color="C0")
        axes.annotate(f"{found.count}", (found.low + 0.05, found.right_share), ha="center")
    means = [found.mean_confidence for found in bins], [found.right_share for found in bins]
    axes.plot(*means, "o", color="C1")
    axes.set(xlabel="confidence", ylabel="share of right answers", xlim=(0, 1), ylim=(0, 1.08))


def _draw_risk(axes: Axes, result: Result) -> None:
    coverage, risk = risk_coverage(*_confidence_and_right(result))
    axes.step(coverage, risk, where="post")
    axes.set(xlabel="share of given answers let in, surest first", ylabel="share of wrong ones")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))


def _draw_latency(axes: Axes, result: Result) -> None:
    nodes = list(result.timings)[::-1]
    for name, alpha in (("p95_ms", 0.4), ("p50_ms", 1.0)):
        times = [result.timings[node][name] for node in nodes]
        axes.barh(nodes, times, alpha=alpha, color="C0", label=name.removesuffix("_ms"))
    axes.set(xlabel="ms")
    axes.legend(loc="lower right")
