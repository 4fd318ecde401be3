"""Fetch public sets, measure pkb on them, keep the figures, and show them beside the published."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Column, Table

from corpus.errors import InvalidDataSet, NotFetched
from corpus.public_web import fetch
from evaluation.benchmarks.catalogue import LEFT_OUT, Benchmark
from evaluation.benchmarks.measures import Rows
from evaluation.evaluate import Report
from evaluation.metrics import bootstrap_interval
from qa.configuration_hash import configuration_sha256
from qa.context import QAContext

# The largest published file has 4 MB.
MAX_FILE_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Score:
    """A figure of pkb, with its 95 % bootstrap interval over n questions."""

    figure: str
    value: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, figure: str, rows: Rows) -> Self:
        low, high = bootstrap_interval(rows.values, rows.statistic)
        return cls(figure, rows.statistic(rows.values), low, high, len(rows.values))


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of pkb on one set, when they were measured, and in how many seconds."""

    scores: tuple[Score, ...]
    created_at: str
    seconds: float


_STORED = TypeAdapter(Measured)


def fetch_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Fetch the published files, check and convert them, and write them into a folder.

    Raises:
        FetchingOff: ``PKB_FETCH`` does not allow it.
        NotFetched: A file cannot be fetched, or is not the published one.
    """
    contents = []
    for path, digest in benchmark.files.items():
        found = fetch(benchmark.url(path), max_bytes=MAX_FILE_BYTES)
        if found is None or sha256(found.content).hexdigest() != digest:
            raise NotFetched(f"{benchmark.url(path)} is not the published file: another SHA-256.")
        contents.append(found.content)
    draft = folder.with_name(f".{folder.name}")  # an interrupted fetch leaves no part of a set
    draft.mkdir(parents=True, exist_ok=True)
    for name, rows in benchmark.convert(contents).items():
        with gzip.open(draft / f"{name}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    draft.replace(folder)


def measure_benchmark(
    benchmark: Benchmark,
    folder: Path,
    *,
    sample: int | None,
    is_fresh: bool,
    context: QAContext,
    report: Report,
) -> Measured:
    """Measure pkb on a set, or return what was measured with the same files and configuration.

    Args:
        sample: Questions to draw; by default, all are asked.
        is_fresh: Measure again.

    Raises:
        InvalidDataSet: The folder has nothing to measure with, or an invalid file.
        BackendError: A model failed.
    """
    files = sorted(folder.glob("*.jsonl*"))
    if not files:
        raise InvalidDataSet(f"{folder} has no file of {benchmark.name}; --fetch gets it.")
    digest = sha256(json.dumps([
        benchmark.name, sample, settings.VERSION,
        configuration_sha256(settings.PKB_EMBEDDING_MODEL), context.answerer.name,
    ]).encode())  # fmt: skip
    for path in files:
        digest.update(path.read_bytes())
    kept = Path(settings.PKB_EVALUATIONS_DIR) / "benchmarks" / f"{digest.hexdigest()[:16]}.json"
    if kept.is_file() and not is_fresh:
        return _STORED.validate_json(kept.read_bytes())
    started = perf_counter()
    figures = benchmark.measure(folder, sample, context, report)
    seconds = round(perf_counter() - started, 1)
    scores = tuple(Score.of(name, rows) for name, rows in figures.items() if len(rows.values))
    if not scores:
        raise InvalidDataSet(f"{folder} has no question or claim to measure with.")
    measured = Measured(scores, timezone.now().isoformat(timespec="seconds"), seconds)
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = kept.with_suffix(".tmp")
    draft.write_bytes(_STORED.dump_json(measured))
    draft.replace(kept)
    return measured


def list_rows(
    found: Sequence[tuple[Benchmark, Measured]], *, answerer: str
) -> list[dict[str, Any]]:
    """Return a row for each figure: pkb's value, the published ones, and who is ahead."""
    return [
        {
            "set": benchmark.name,
            "title": benchmark.title,
            **asdict(score),
            "published": dict(benchmark.published.get(score.figure, {})),
            "standing": compare(score, benchmark.published.get(score.figure, {})),
            "comparable": benchmark.comparable,
            "cited": f"{benchmark.repository}: {benchmark.cited}",
            "licence": benchmark.licence,
            "answerer": answerer,
            "created_at": measured.created_at,
            "seconds": measured.seconds,
        }
        for benchmark, measured in found
        for score in measured.scores
    ]


def compare(score: Score, published: Mapping[str, float]) -> str:
    """Return how many published values lie below, within and above pkb's interval."""
    lower = sum(value < score.low for value in published.values())
    higher = sum(value > score.high for value in published.values())
    level = len(published) - lower - higher
    counts = {"ahead of": lower, "level with": level, "behind": higher}
    return ", ".join(f"{word} {count}" for word, count in counts.items() if count) or "-"


def print_scoreboard(rows: Sequence[Mapping[str, Any]], *, console: Console) -> None:
    table = Table(
        "set", "figure", Column("published", ratio=1), "pkb [95 %]", Column("n", justify="right"),
        "pkb is", Column("like for like", ratio=1), Column("s", justify="right"),
    )  # fmt: skip
    known = ""
    for row in rows:
        published = "; ".join(f"{value:.3f} {name}" for name, value in row["published"].items())
        is_new, known = row["set"] != known, row["set"]
        table.add_row(
            row["set"] if is_new else "",
            row["figure"],
            published or "-",
            "{value:.3f} [{low:.3f}, {high:.3f}]".format(**row),
            str(row["n"]),
            row["standing"],
            row["comparable"] if is_new else "",
            f"{row['seconds']:.0f}" if is_new else "",
        )
    console.print(table)
    for name, reason in LEFT_OUT.items():
        console.print(f"Left out: {name}, because {reason}.")


def render_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a self-contained page: the table, and a plot of each figure on a line from 0 to 1."""
    plotted = [
        {
            **row,
            "span": {"left": 100 * row["low"], "width": 100 * (row["high"] - row["low"])},
            "at": 100 * row["value"],
            "marks": [100 * value for value in row["published"].values()],
        }
        for row in rows
    ]
    return render_to_string(
        "evaluation/scoreboard.html", {"rows": plotted, "left_out": LEFT_OUT.items()}
    )
