"""Measure requests: ``python benchmarks/latency.py FOLDER [--questions N]``.

FOLDER is a data set of ``manage.py evaluate``; of one without questions the queries are asked.
--documents N keeps those that they need and random others. Each question is asked once before it
is timed, so that its passages' token vectors are kept. Prints the median and the 95th percentile
of POST /search, GET /answer, and GET /answer of what was answered before, in this process,
middleware included, without a socket. To compare two versions run them in turns over one database.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from evaluation.datasets import read_dataset, sample_dataset  # noqa: E402
from evaluation.index import index_dataset  # noqa: E402


def main() -> None:
    options = _parse_options()
    dataset = sample_dataset(
        read_dataset(options.folder), query_count=None, document_count=options.documents, seed=1
    )
    name = index_dataset(dataset, fresh=False, progress=lambda done, total: None).collection.name
    asked = dataset.questions or dataset.queries
    texts = [question.text for question in asked[: options.questions]]
    api = APIClient(SERVER_NAME="localhost")

    def search(text: str) -> HttpResponse:
        return api.post("/search", {"query": text, "collection": name}, format="json")

    def answer(text: str) -> HttpResponse:
        return api.get("/answer", {"q": text, "collection": name})

    kept_count = settings.PKB_ANSWER_CACHE
    for kind, ask, kept in (
        ("search", search, 0),
        ("answer", answer, 0),
        ("again", answer, kept_count),
    ):
        settings.PKB_ANSWER_CACHE = kept
        times = [_time(ask, text) for text in (*texts, *texts)][len(texts) :]
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{kind:>8}: p50 {statistics.median(times):.0f} ms, p95 {p95:.0f} ms")


def _time(ask: Callable[[str], HttpResponse], text: str) -> float:
    """Return the milliseconds that a request takes."""
    started = time.perf_counter()
    response = ask(text)
    if response.status_code != 200:
        raise SystemExit(f"{response.status_code}: {response.content[:200]!r}")
    return (time.perf_counter() - started) * 1000


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--documents", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
