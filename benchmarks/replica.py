"""Measure the cost of checking a standby and searching on it.

    PYTHONPATH=. .venv/bin/python benchmarks/replica.py [--documents 200] [--pairs 300]

A primary and a standby are made for it, both on this machine. Searches by words and hashed vectors,
without reranking, read the primary as without a standby, and the standby, in turns of one run.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from tests.faults.clusters import cluster_in, reachable_directory
from tests.support.standby import DATABASE, standby_of, url_of

SUBJECTS = ("lighthouse", "ferry", "bakery", "orchard", "quarry", "weaver", "harbour", "mill")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=300)
    given = parser.parse_args()
    with reachable_directory() as folder, cluster_in(folder / "primary") as primary:
        primary.start()
        primary.ensure_database(DATABASE)
        settings = {
            "DATABASE_URL": url_of(primary),
            "POSTGRES_OWNER": "pkb",
            "EMBEDDING_MODEL": "hashing-64",
            "PKB_DATA_DIR": str(folder / "data"),
            "DJANGO_SETTINGS_MODULE": "pkb.settings",
        }
        os.environ.update(settings)
        migrate = [sys.executable, str(Path("manage.py").resolve()), "migrate", "--verbosity", "0"]
        subprocess.run(migrate, check=True)
        with standby_of(primary, folder / "standby") as standby:
            os.environ["PKB_REPLICA_URL"] = url_of(standby)
            measure(given.documents, given.pairs)


def measure(documents: int, pairs: int) -> None:
    import django  # noqa: PLC0415  (the settings are known by now)

    django.setup()
    from corpus.access.principal import SYSTEM, acting_as  # noqa: PLC0415
    from corpus.models import Collection  # noqa: PLC0415
    from corpus.postgres import snapshot  # noqa: PLC0415
    from corpus.postgres.standby import check_standby, read_position  # noqa: PLC0415
    from qa.search.hybrid import HybridRetriever  # noqa: PLC0415
    from qa.types import Query  # noqa: PLC0415
    from tests.support.documents import ingest_text_of  # noqa: PLC0415

    retriever = HybridRetriever(alpha=0.5, candidate_count=50)

    def search(number: int) -> None:
        text = f"Who keeps the {SUBJECTS[number % len(SUBJECTS)]} of house {number}?"
        retriever.retrieve(Query(text, collection="default"), limit=20)

    with acting_as(SYSTEM):
        ingest = ingest_text_of(Collection.objects.get_named("default"))
        for number in range(documents):
            subject = SUBJECTS[number % len(SUBJECTS)]
            ingest(f"In house {number} of the street somebody keeps the {subject} all year. " * 3)
        taken: dict[str, list[tuple[float, float]]] = {"primary": [], "standby": []}
        checks = []
        for number in range(pairs):
            # The order alternates, so that neither always finds warm caches.
            for name in sorted(taken, reverse=bool(number % 2)):
                snapshot._Pause.ends = float("inf") if name == "primary" else 0.0
                taken[name].append(timed(search, number))
            checks.append(timed(lambda _: check_standby(read_position()), number))
        taken["the check alone"] = checks
    for name, figures in taken.items():
        walls, cpus = zip(*figures, strict=True)
        print(
            f"{name}: least {min(walls):.1f} ms, median {median(walls):.1f} ms,"
            f" CPU of this process {sum(cpus) / len(cpus):.1f} ms"
        )


def timed(act: Any, number: int) -> tuple[float, float]:
    began, cpu = perf_counter(), process_time()
    act(number)
    return (perf_counter() - began) * 1000, (process_time() - cpu) * 1000


if __name__ == "__main__":
    main()
