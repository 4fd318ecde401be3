"""Render results: as terminal tables, and as a page with plots."""

import json
import os
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.template.loader import render_to_string
from rich.console import Console
from rich.table import Column, Table

from evaluation.comparison import SIGNIFICANT_BELOW, Difference
from evaluation.figures import BY_KIND
from evaluation.metrics import reliability_bins, risk_coverage
from evaluation.results import ANSWERS, RETRIEVAL, Observation, Result, Share


def print_result(result: Result, *, console: Console) -> None:
    """Print all metrics with n and interval, by kind and threshold, then the nodes' timings."""
    counts = ", ".join(f"{count} {name}" for name, count in result.counts.items())
    console.print(f"{result.dataset}: {counts}; k {result.k}; collection {result.collection}")
    table = Table("figure", *map(_right, ("value", "95 % interval", "n")))
    for figure in result.figures:
        arrow = "" if figure.better == "higher" else " (small is good)"
        interval = f"{_number(figure.low)} to {_number(figure.high)}" if figure.n else "-"
        table.add_row(figure.label + arrow, _number(figure.value), interval, str(figure.n))
    console.print(table)
    if result.by_kind:
        heads = [name.replace("_", " ") for name in BY_KIND]
        kind_column = Column("kind of question", overflow="fold", min_width=18)
        kinds = Table(kind_column, *map(_right, heads), title="Where right answers are lost")
        for kind, kind_counts in with_total(result.by_kind).items():
            kinds.add_row(kind, *(str(kind_counts[name]) for name in BY_KIND))
        console.print(kinds)
    if result.thresholds:
        columns = map(_right, THRESHOLD_HEADS)
        thresholds = Table(*columns, title="If PKB_ANSWER_FROM were another")
        for cells in threshold_cells(result):
            thresholds.add_row(*cells)
        console.print(thresholds)
    timings = Table("node", *map(_right, ("median ms", "95th percentile ms")))
    for node, times in result.timings.items():
        timings.add_row(node, f"{times['p50_ms']:.1f}", f"{times['p95_ms']:.1f}")
    console.print(timings)
    for note in result.notes:
        console.print(f"Note: {note}")


THRESHOLD_HEADS = ("said from", "said", "right, of what is said", "answered right")


def threshold_cells(result: Result) -> list[tuple[str, ...]]:
    """Return the cells of a threshold row, in the order of ``THRESHOLD_HEADS``."""
    return [
        (
            f"{row.answer_from:.1f}",
            str(row.said_count),
            _share(row.said_right),
            _share(row.answered_right),
        )
        for row in result.thresholds
    ]


def _share(share: Share | None) -> str:
    return "-" if share is None else "{:.3f} ({:.3f} to {:.3f})".format(*share)


def with_total(by_kind: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """Return the counts of each kind, and then the totals as ``all``."""
    total = {name: sum(counts[name] for counts in by_kind.values()) for name in BY_KIND}
    return {**by_kind, "all": total}


def print_differences(differences: Sequence[Difference], *, console: Console) -> None:
    """Print the differences of two configurations, with p-values."""
    names = ("before", "after", "change", "p", "n")
    table = Table("figure", *map(_right, names), title="Paired randomization test")
    for difference in differences:
        mark = " *" if difference.p < SIGNIFICANT_BELOW else ""
        table.add_row(
            difference.label,
            _number(difference.before),
            _number(difference.after),
            f"{difference.change:+.3f}",
            f"{difference.p:.3f}{mark}",
            str(difference.n),
        )
    console.print(table)


def _right(header: str) -> Column:
    return Column(header, justify="right")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


# The most important metrics come first.
PLOTS = ("risk_coverage", "reliability", "recall")
WIDTH_IN, HEIGHT_IN, DPI = 5.6, 4.0, 110

Axes = Any
Drawing = Callable[[Axes, Result], None]


def draw_plots(result: Result) -> dict[str, bytes]:
    """Return the PNG of each available plot by file name."""
    plots: dict[str, tuple[str, Drawing]] = {}
    if _given(result.observations.get(ANSWERS, {})):
        plots["risk_coverage"] = "Risk and coverage", _draw_risk
        plots["reliability"] = "Confidence and share of right answers", _draw_reliability
    if result.observations.get(RETRIEVAL):
        plots["recall"] = "Recall at k", _draw_recall
    # Without pyplot there is no global state and no display.
    from matplotlib.figure import Figure  # noqa: PLC0415  (it takes half a second to import)

    images = {}
    for name, (title, draw) in plots.items():
        figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI, layout="constrained")
        axes = figure.subplots()
        draw(axes, result)
        axes.set_title(title)
        axes.grid(alpha=0.3)
        image = BytesIO()
        figure.savefig(image, format="png")
        images[f"{name}.png"] = image.getvalue()
    return images


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
    for each in bins:
        axes.bar(each.low, each.right_share, width=0.1, align="edge", alpha=0.5, color="C0")
        axes.annotate(f"{each.count}", (each.low + 0.05, each.right_share), ha="center")
    means = [each.mean_confidence for each in bins], [each.right_share for each in bins]
    axes.plot(*means, "o", color="C1")
    axes.set(xlabel="confidence", ylabel="share of right answers", xlim=(0, 1), ylim=(0, 1.08))


def _draw_risk(axes: Axes, result: Result) -> None:
    coverage, risk = risk_coverage(*_confidence_and_right(result))
    axes.step(coverage, risk, where="post")
    axes.set(xlabel="share of given answers let in, surest first", ylabel="share of wrong ones")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))


RESULT_FILE = "result.json"
REPORT_FILE = "report.html"


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The latest result of a data set, and the folder of its files.

    Attributes:
        report: Self-contained HTML page, if it exists.
        plots: PNG files by name.
    """

    result: Result
    folder: Path

    @property
    def report(self) -> Path | None:
        path = self.folder / REPORT_FILE
        return path if path.is_file() else None

    @property
    def plots(self) -> list[Path]:
        paths = {path.stem: path for path in sorted(self.folder.glob("*.png"))}
        return [paths[name] for name in PLOTS if name in paths]


def latest_results() -> list[KeptResult]:
    """Return the latest result of each data set, newest first; skip unreadable files."""
    results = []
    for path in sorted(Path(settings.PKB_EVALUATIONS_DIR).glob(f"*/{RESULT_FILE}")):
        try:
            result = Result.from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
        results.append(KeptResult(result, path.parent))
    return sorted(results, key=lambda kept: kept.result.created_at, reverse=True)


def write_report(result: Result, folder: Path) -> None:
    """Write ``result.json``, ``report.html`` and the PNG files; replace each file atomically."""
    plots = draw_plots(result)
    images = {
        name.removesuffix(".png").replace("_", " "): b64encode(image).decode()
        for name, image in plots.items()
    }
    counted = with_total(result.by_kind) if result.by_kind else {}
    kinds = {kind: [counts[name] for name in BY_KIND] for kind, counts in counted.items()}
    heads = [name.replace("_", " ") for name in BY_KIND]
    context = {
        "result": result,
        "images": images,
        "kinds": kinds,
        "kind_heads": heads,
        "thresholds": threshold_cells(result),
        "threshold_heads": THRESHOLD_HEADS,
    }
    files = {
        **plots,
        REPORT_FILE: render_to_string("evaluation/report.html", context).encode(),
        RESULT_FILE: json.dumps(asdict(result), ensure_ascii=False).encode(),
    }
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for stale in set(folder.glob("*.png")) - {folder / name for name in plots}:
        stale.unlink(missing_ok=True)
    for name, content in files.items():
        draft = folder / f".{name}.{os.getpid()}"
        draft.write_bytes(content)
        draft.replace(folder / name)
