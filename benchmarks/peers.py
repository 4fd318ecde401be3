"""Compare pkb with other stacks, in one run: ``python benchmarks/peers.py FOLDER [FOLDER ...]``.

FOLDER is a data set of ``manage.py evaluate`` with queries. Each stack of ``benchmarks/peers`` is
installed into an environment of its own (NAME.txt; from a package index, once), runs in a process
of its own (NAME_driver.py) and gets the same MiniLM and the same cross-encoder, from packages;
pkb is served with its default settings from an empty data folder. All take the same documents in,
one after the other; then each question is asked of all of them in turns, so that what else the
machine does is in every row. One table a data set, in Markdown; how to read it is told by
benchmarks/results/peers.md. Linux only: it reads /proc.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from statistics import median, quantiles

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "peers")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")

from stacks import (  # noqa: E402
    HITS,
    PEERS,
    Fallen,
    Peer,
    Served,
    System,
    driven,
    driver_command,
    run_driver,
    write_cross_encoder,
)

from corpus.embedders.model_files import packaged_model  # noqa: E402
from evaluation.datasets import DataSet, GoldQuery, read_dataset, sample_dataset  # noqa: E402
from evaluation.metrics import Array, bootstrap_interval, judge_ranking  # noqa: E402
from tests.support.own_service import own_service  # noqa: E402

# Warm-up queries before measuring, which load what is loaded lazily.
WARMING = 5
HEAD = ("stack", "MRR@10", "pkb's less this", "hit@1", "nDCG@10", "search p50, p95 ms",
        "pkb's p50 by this", "CPU ms a search", "documents a CPU-s", "RSS, PSS MB")  # fmt: skip


@dataclass
class Row:
    """Measurements of a system in one mode; lists have one value for each question."""

    label: str
    way: str
    documents_a_cpu_s: float = float("nan")
    memory_mb: tuple[float, float] = (float("nan"), float("nan"))
    times_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    mrr: list[float] = field(default_factory=list)
    ndcg: list[float] = field(default_factory=list)


def main() -> None:
    options = parse_options()
    wanted = [peer for peer in PEERS if peer.name in options.only]
    with tempfile.TemporaryDirectory(prefix="pkb-peers-") as scratch:
        models = packaged_model("all-MiniLM-L6-v2"), write_cross_encoder(Path(scratch))
        for folder in options.folders:
            dataset = sample_dataset(
                read_dataset(folder),
                query_count=options.questions,
                document_count=options.documents,
                seed=options.seed,
            )
            compare(dataset, wanted, models, options)


def compare(
    dataset: DataSet, wanted: Sequence[Peer], models: Sequence[Path], options: argparse.Namespace
) -> None:
    """Measure pkb and its peers on a data set, each starting empty, and print the table."""
    fallen: dict[str, str] = {}
    systems: list[System] = []
    where, threads = options.environments, options.threads
    with ExitStack() as stack:
        for peer in wanted:
            one = driven(peer, environments=where, models=models, threads=threads)
            try:
                systems.append(stack.enter_context(one))
            except Fallen as error:
                fall(fallen, peer.label, error)
        service = stack.enter_context(own_service())
        here = {**os.environ, "PKB_DATA_DIR": str(service.data)}
        command = driver_command(Path(sys.executable), "pkb", service.data, models)
        inside = stack.enter_context(run_driver("pkb", command, here))
        print_table(dataset, measure(dataset, [Served(service), inside, *systems], fallen), fallen)


def fall(fallen: dict[str, str], label: str, error: Fallen) -> None:
    fallen[label] = str(error)
    tell(f"{label}: {error}")


def measure(dataset: DataSet, systems: Sequence[System], fallen: dict[str, str]) -> list[Row]:
    """Ingest the documents into all systems, and answer each query in turns.

    Args:
        fallen: Filled with systems that fail to start or to ingest, and why.
    """
    found: list[tuple[System, list[Row]]] = []
    for system in systems:
        try:
            found.append((system, load(system, dataset)))
        except Fallen as error:
            fall(fallen, system.label, error)
    for number, query in enumerate(dataset.queries):
        for place in range(len(found)):
            # The order rotates.
            turn = (place + number) % len(found)
            system, rows = found[turn]
            for row in rows:
                ask_one(system, row, query)
    return [row for _, rows in found for row in rows]


def load(system: System, dataset: DataSet) -> list[Row]:
    """Return a row for each mode, with the cost of ingestion and the memory."""
    system.begin()
    before = system.tree.cpu_s()
    system.load(dataset.documents)
    spent_s = system.tree.cpu_s() - before
    # In-process pkb ingests nothing.
    rate = len(dataset.documents) / spent_s if spent_s else float("nan")
    tell(f"{dataset.name}: {system.label} took them in, {rate:.1f} a CPU-second")
    rows = []
    for way in system.ways:
        for query in dataset.queries[:WARMING]:
            system.ask(query.text, way=way)
        rows.append(Row(system.label, way, rate, system.tree.memory_mb()))
    return rows


def ask_one(system: System, row: Row, query: GoldQuery) -> None:
    before, started = system.tree.cpu_s(), time.perf_counter()
    ranking = system.ask(query.text, way=row.way)
    row.times_ms.append((time.perf_counter() - started) * 1000)
    row.cpu_ms.append((system.tree.cpu_s() - before) * 1000)
    judged = judge_ranking(ranking[:HITS], query.relevant, k=HITS)
    row.mrr.append(judged["mrr"])
    row.ndcg.append(judged["ndcg"])


def tell(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


def print_table(dataset: DataSet, rows: Sequence[Row], fallen: Mapping[str, str]) -> None:
    counts = f"{len(dataset.documents)} documents, {len(dataset.queries)} questions"
    print(f"\n{dataset.name}, {counts}:\n\n| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    for row in rows:
        print(f"| {' | '.join(cells(row, rows[0]))} |")
    for label, reason in fallen.items():
        print(f"| {label} | {reason} {'|' * (len(HEAD) - 1)}")
    sys.stdout.flush()


def cells(row: Row, pkb: Row) -> Iterator[str]:
    """Yield the table cells of a row; intervals hold 95 % of resampled questions."""
    yield f"{row.label}, {row.way}"
    yield with_interval(np.array(row.mrr), mean, ".3f")
    yield "" if row is pkb else with_interval(np.subtract(pkb.mrr, row.mrr), mean, "+.3f")
    yield f"{np.mean(np.equal(row.mrr, 1)):.3f}"
    yield f"{np.mean(row.ndcg):.3f}"
    yield f"{median(row.times_ms):.0f}, {quantiles(row.times_ms, n=20)[-1]:.0f}"
    times = np.column_stack([pkb.times_ms, row.times_ms])
    yield "" if row is pkb else with_interval(times, ratio_of_medians, ".2f")
    yield f"{np.mean(row.cpu_ms):.0f}"
    yield "" if isnan(row.documents_a_cpu_s) else f"{row.documents_a_cpu_s:.1f}"
    yield ", ".join(f"{each:.0f}" for each in row.memory_mb)


def with_interval(values: Array, statistic: Callable[[Array], float], form: str) -> str:
    value, low, high = statistic(values), *bootstrap_interval(values, statistic)
    return f"{value:{form}} ({low:{form}} to {high:{form}})"


def mean(values: Array) -> float:
    return float(values.mean())


def ratio_of_medians(times: Array) -> float:
    first, second = np.median(times, axis=0)
    return float(first / second)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    names = [peer.name for peer in PEERS]
    parser.add_argument("--only", nargs="*", choices=names, default=names, metavar="PEER")
    parser.add_argument("--documents", type=int, default=1_500)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1, help="that a peer's models compute with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--environments", type=Path, default=ROOT / "var" / "peers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
