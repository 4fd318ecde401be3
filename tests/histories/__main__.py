"""Let clients act at once, and tell what any of them saw that it must not, or missed.

    scripts/histories --minutes 15 --seed 1            a service of its own; rounds of a minute
    scripts/histories --check var/histories/1-0.jsonl  judges a history that was kept
    RERANKER_MODEL=answerai-colbert-small-v1 scripts/histories     any setting may be given

Each round has collections of its own. A seed draws the same acts for each client; which of them
meet is up to the machine. The history of each round is kept, a line of JSON a record.
"""

import argparse
import itertools
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.histories.clients import SHELVES, make_shelves, run_clients
from tests.histories.history import History, read_file
from tests.histories.texts import CHUNKING
from tests.support.own_service import ROOT, OwnService, own_service

ROUND_S = 60.0
SHOWN = 8
# Words are hashed into vectors: what is visible is no matter of models, and more is asked so.
MODEL = "hashing-64"


def main() -> int:
    chosen = _parse_options()
    if chosen.check:
        return not report(read_file(chosen.check), str(chosen.check))
    held = True
    with own_service(RERANKER_MODEL=os.environ.get("RERANKER_MODEL", "none")) as service:
        versions = itertools.count(1)
        rounds = max(1, round(chosen.minutes * 60 / ROUND_S))
        seconds = chosen.minutes * 60 / rounds
        for number in range(rounds):
            with _kept(chosen.keep / f"{chosen.seed}-{number}.jsonl") as history:
                names = [f"h{chosen.seed}-{number}-{index}" for index in range(SHELVES)]
                _make_collections(service, names, model=chosen.model)
                shelves = make_shelves(
                    names, root=service.inbox, versions=versions, folders=min(2, chosen.clients)
                )
                run_clients(
                    service.url, shelves, history,
                    seed=f"{chosen.seed}-{number}", count=chosen.clients, seconds=seconds,
                )  # fmt: skip
            held = report(history, f"seed {chosen.seed}, round {number}") and held
        shutil.copy(service.log, chosen.keep / f"{chosen.seed}.log")
    return not held


@contextmanager
def _kept(path: Path) -> Iterator[History]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        yield History(file)


def _make_collections(service: OwnService, names: list[str], *, model: str) -> None:
    for name in names:
        body = {"name": name, "embedding_model": model, "chunking": CHUNKING}
        made = httpx2.post(f"{service.url}/collections", json=body, timeout=60)
        made.raise_for_status()


def report(history: History, name: str) -> bool:
    """Print what a history holds and what of it must not be; tells whether nothing."""
    violations = history.find_violations()
    kinds = Counter(each.kind for each in violations)
    doors = Counter(read.door for read in history.reads)
    counts = Counter(str(write.act) for write in history.writes)
    print(
        f"{name}: {sum(counts.values())} writes {dict(counts)}, {len(history.reads)} reads "
        f"{dict(doors)}, {history.refused_count} refused; {len(history.failures)} failed, "
        f"violations {dict(kinds)}",
        flush=True,
    )
    for found in [*violations[:SHOWN], *history.failures[:SHOWN]]:
        print(f"  {found}", flush=True)
    return not violations and not history.failures


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--model", default=MODEL, help="embedding model of the collections")
    parser.add_argument("--keep", type=Path, default=ROOT / "var" / "histories")
    parser.add_argument("--check", type=Path, help="a history that was kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
