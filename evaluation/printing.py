"""Results as tables in a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table

from evaluation.comparing import SIGNIFICANT_BELOW, Difference
from evaluation.results import Result


def print_result(result: Result, *, console: Console) -> None:
    """Print every figure with its n and interval, then the times of the nodes."""
    counts = ", ".join(f"{count} {name}" for name, count in result.counts.items())
    console.print(f"{result.dataset}: {counts}; k {result.k}; collection {result.collection}")
    table = Table("figure", *map(_right, ("value", "95 % interval", "n")))
    for figure in result.figures:
        arrow = "" if figure.better == "higher" else " (small is good)"
        interval = f"{_number(figure.low)} to {_number(figure.high)}" if figure.n else "-"
        table.add_row(figure.label + arrow, _number(figure.value), interval, str(figure.n))
    console.print(table)
    timings = Table("node", *map(_right, ("median ms", "95th percentile ms")))
    for node, times in result.timings.items():
        timings.add_row(node, f"{times['p50_ms']:.1f}", f"{times['p95_ms']:.1f}")
    console.print(timings)
    for note in result.notes:
        console.print(f"Note: {note}")


def print_differences(differences: Sequence[Difference], *, console: Console) -> None:
    """Print what changed from one configuration to the other, and how likely chance is."""
    names = ("before", "after", "change", "p", "n")
    table = Table("figure", *map(_right, names), title="Paired randomization test")
    for seen in differences:
        mark = " *" if seen.p < SIGNIFICANT_BELOW else ""
        table.add_row(
            seen.label,
            _number(seen.before),
            _number(seen.after),
            f"{seen.change:+.3f}",
            f"{seen.p:.3f}{mark}",
            str(seen.n),
        )
    console.print(table)


def _right(header: str) -> Column:
    return Column(header, justify="right")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
