"""Table in Markdown and plot of the results of ``growth.py``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

# Milliseconds of each request, by chunks of the corpus.
Spent = Mapping[int, Sequence[float]]

WIDTH_IN, ROW_IN = 8.0, 0.2


def table_head(chunk_counts: Sequence[int], *, times: int) -> str:
    """Return the first two lines of the table."""
    columns = [f"{chunk_count:,}" for chunk_count in chunk_counts]
    first = f"p50 and p95 of {times}, ms, by chunks"
    return f"| {' | '.join([first, *columns, 'ratio'])} |\n|---|{'---|' * (len(columns) + 1)}"


def table_row(kind: str, spent: Spent) -> str:
    """Return a line of the table; ratios are of the largest corpus to the smallest."""
    found = [np.percentile(ms, [50, 95]) for ms in spent.values()]
    cells = [f"{p50:.1f}, {p95:.1f}" for p50, p95 in found]
    ratios = ", ".join(f"{ratio:.1f}" for ratio in found[-1] / found[0])
    return f"| {' | '.join([kind, *cells, ratios])} |"


def draw(kinds: Mapping[str, Spent], path: Path, *, title: str) -> None:
    """Draw p50 of each kind and corpus, with a line to p95, as SVG."""
    import matplotlib as mpl  # noqa: PLC0415  (half a second)
    from matplotlib.figure import Figure  # noqa: PLC0415

    # Text stays text, and the same data give the same file.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pkb"})
    figure = Figure(figsize=(WIDTH_IN, 1.2 + ROW_IN * len(kinds)), layout="constrained")
    axes = figure.subplots()
    chunk_counts = list(next(iter(kinds.values())))
    for number, chunk_count in enumerate(chunk_counts):
        places = np.arange(len(kinds)) + 0.25 * (number - (len(chunk_counts) - 1) / 2)
        found = np.array([np.percentile(spent[chunk_count], [50, 95]) for spent in kinds.values()])
        axes.hlines(places, found[:, 0], found[:, 1], color=f"C{number}", linewidth=1)
        axes.plot(found[:, 0], places, "o", markersize=3.5, label=f"{chunk_count:,} chunks")
    axes.set_yticks(range(len(kinds)), list(kinds), fontsize=7)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="ms: p50, and a line to p95", title=title)
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.legend(fontsize=7)
    figure.savefig(path, format="svg", metadata={"Date": None})
    # Removes trailing spaces.
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines))
