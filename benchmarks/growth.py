"""Measure how the time of each kind of request grows with the corpus.

    PKB_DATA_DIR=/tmp/growth PYTHONPATH=. .venv/bin/python benchmarks/growth.py
        [--chunks 10000 100000 1000000] [--only tag search] [--cpu]
        [--plot docs/growth.svg]

The corpora are made up (``growth/synthetic_corpus.py``); each is a database of its own on the
configured Postgres, ``growth_10000`` and so on, which is kept for the next run and made anew by
``--fresh``. Requests go through every middleware in this process, and take turns between the
corpora. A made-up embedder of 768 dimensions takes the place of the models, and nothing is
reranked: neither grows. Policies show the rows, to a user who is logged in. ``--cpu`` counts the
time of a core, here and in Postgres: on a machine with others, or with less memory than the corpora
take, the clock tells of those.
``--recall`` compares the vector leg with the comparison of all vectors, by share of visible rows.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import django
import numpy as np

sys.path.insert(0, str(Path(__file__).with_suffix("")))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("APP_ENV", "dev")
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from request_kinds import Kinds, Request  # noqa: E402
from synthetic_corpus import NAME, fill  # noqa: E402
from vector_recall import show_recall  # noqa: E402

from accounts.authentication import principal_of  # noqa: E402
from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from corpus.postgres import as_owner  # noqa: E402

# Milliseconds of each request, by chunks of the corpus.
Spent = Mapping[int, Sequence[float]]

DIMENSION = 768
# A slower request is aborted; a slow turn has fewer requests.
LIMIT_S = 30
SLICE_S = 10
WARM_UPS = 2
WIDTH_IN, ROW_IN = 8.0, 0.2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--times", type=int, default=30, help="of each kind and corpus")
    parser.add_argument("--only", nargs="+", default=[""], help="kinds with one of these in them")
    parser.add_argument("--cpu", action="store_true", help="time of a core, not of the clock")
    parser.add_argument("--plot", type=Path, help="an SVG to be drawn")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--recall", action="store_true")
    options = parser.parse_args()
    logging.disable()
    settings.ALLOWED_HOSTS = ["testserver"]
    # Requests come from a user, with row-level security.
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_EMBEDDERS = settings.PKB_EMBEDDERS | {
        NAME: {
            "BACKEND": "synthetic_corpus.MixedEmbedder",
            "OPTIONS": {"dimension": DIMENSION},
        }
    }
    for chunk_count in options.chunks:
        make(chunk_count, is_fresh=options.fresh)
    if options.recall:
        for chunk_count in options.chunks:
            use(f"growth_{chunk_count}")
            with acting_as(principal_of(get_user_model().objects.get())):
                show_recall(chunk_count, dimension=DIMENSION)
    else:
        show_growth(options)


def use(database: str) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict["NAME"] = database


def make(chunk_count: int, *, is_fresh: bool) -> None:
    """Fill the database of a corpus unless it exists."""
    name = f"growth_{chunk_count}"
    use("postgres")
    is_new = make_database(name, is_fresh=is_fresh)
    use(name)
    started = time.perf_counter()
    call_command("migrate", verbosity=0)
    if is_new:
        fill(chunk_count, dimension=DIMENSION)
        get_user_model().objects.create_superuser("growth")
        print(f"{name}: made in {time.perf_counter() - started:.0f} s", flush=True)


@as_owner()
def make_database(name: str, *, is_fresh: bool) -> bool:
    with connection.cursor() as cursor:
        if is_fresh:
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute("SELECT FROM pg_database WHERE datname = %s", [name])
        if cursor.fetchone() is not None:
            return False
        cursor.execute(f"CREATE DATABASE {name}")
    return True


def show_growth(options: argparse.Namespace) -> None:
    chunk_counts, times = options.chunks, options.times
    kinds = {}
    for chunk_count in chunk_counts:
        use(f"growth_{chunk_count}")
        kinds[chunk_count] = Kinds(seed=1).all()
    print(table_head(chunk_counts, times=times))
    spent = {}
    for kind in next(iter(kinds.values())):
        if any(part.lower() in kind.lower() for part in options.only):
            spent[kind] = time_in_turns(kind, kinds, times=times, of_core=options.cpu)
            print(table_row(kind, spent[kind]), flush=True)
    if options.plot:
        draw(spent, options.plot, title="Requests by size of the corpus")


def time_in_turns(
    kind: str, kinds: dict[int, dict[str, Request]], *, times: int, of_core: bool
) -> dict[int, list[float]]:
    """Return the milliseconds of each request by corpus, in turns that alternate."""
    spent: dict[int, list[float]] = {chunk_count: [] for chunk_count in kinds}
    for _ in range(2):
        for chunk_count, requests in kinds.items():
            use(f"growth_{chunk_count}")
            read = _core_clock() if of_core else time.perf_counter
            spent[chunk_count] += list(_time(requests[kind], times // 2, read=read))
    return spent


def _core_clock() -> Callable[[], float]:
    """Return a function that reads the CPU seconds of this process and its Postgres backend."""
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
        cursor.execute("SELECT pg_backend_pid()")
        # In nanoseconds; /proc/PID/stat counts in steps of 10 ms.
        backend = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")
    return lambda: time.process_time() + int(backend.read_text().split()[0]) / 1e9


def _time(request: Request, times: int, *, read: Callable[[], float]) -> Iterator[float]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{LIMIT_S}s'")
    begun = time.perf_counter()
    for number in range(times + WARM_UPS):
        started = read()
        status = request().status_code
        ms = (read() - started) * 1_000
        is_last = time.perf_counter() - begun > SLICE_S
        if status >= 400 and ms < LIMIT_S * 1_000:
            raise SystemExit(f"a request failed: {status}")
        if number >= WARM_UPS or is_last:
            yield ms
        if is_last:
            return


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


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
