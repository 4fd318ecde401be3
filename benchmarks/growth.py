"""Time each kind of request on a small corpus and on a large one: what grows with it?

    PKB_DATA_DIR=/tmp/growth PYTHONPATH=. .venv/bin/python benchmarks/growth.py [--only tag search]

The corpora are made up (``made_corpus.py``); each is a database of its own on the configured
Postgres, ``growth_10000`` and so on, which is kept for the next run and made anew by ``--fresh``.
Requests go through every middleware in this process, and take turns between the corpora. A made-up
embedder of 768 dimensions takes the place of the models, and nothing is reranked: neither grows.
``--recall`` compares the vector leg with the comparison of all vectors, by share of visible rows.
``--verify`` times ``manage.py verify``, token vectors of 180 tokens to each chunk besides.
"""

import argparse
import logging
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from statistics import mean, median
from typing import Any

import django
import numpy as np

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("APP_ENV", "dev")
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from made_corpus import (  # noqa: E402
    NAME,
    SHARES,
    draw_vectors,
    fill,
    fill_token_vectors,
    make_vocabulary,
)

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from corpus.models import Chunk, Collection, Embedding  # noqa: E402
from corpus.postgres.owner import as_owner  # noqa: E402

DIMENSION = 768
# A request that takes longer is broken off; a turn that takes longer has fewer requests.
LIMIT_S = 30
TURN_S = 10
WARM_UPS = 2
# Queries and rows of --recall.
ASKED = 30
NEAREST = (10, 50)
VERIFICATIONS = 3

Request = Callable[[], Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--times", type=int, default=30, help="of each kind and corpus")
    parser.add_argument("--only", nargs="+", default=[""], help="kinds with one of these in them")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--verify", action="store_true")
    options = parser.parse_args()
    logging.disable()
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.PKB_EMBEDDERS = settings.PKB_EMBEDDERS | {
        NAME: {
            "BACKEND": "made_corpus.MixedEmbedder",
            "OPTIONS": {"dimension": DIMENSION},
        }
    }
    for chunk_count in options.chunks:
        make(chunk_count, is_fresh=options.fresh)
    if options.verify:
        show_verify(options.chunks)
    elif options.recall:
        for chunk_count in options.chunks:
            show_recall(chunk_count)
    else:
        show_growth(options.chunks, times=options.times, only=options.only)


def use(database: str) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict["NAME"] = database


def make(chunk_count: int, *, is_fresh: bool) -> None:
    """Fill the corpus' database unless it is there."""
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


class Kinds:
    """The requests, by kind; each call of one asks something else, the same for every corpus."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311
        self._client = Client(raise_request_exception=False)
        self._client.force_login(get_user_model().objects.get())
        self._words = make_vocabulary()
        self._texts = list(Chunk.objects.order_by("document__title", "ordinal")[:200])
        self._ids = count(seed * 1_000_000)

    def all(self) -> dict[str, Request]:
        return {**self._lists(), **self._searches(), **self._writes(), **self._pages()}

    def _lists(self) -> dict[str, Request]:
        paths = {
            "GET /health": "/health",
            "GET /tags": "/tags",
            "GET /tags/{name}": "/tags/share2",
            "GET /collections": "/collections",
            "GET /collections/{name}": f"/collections/{NAME}",
            "GET /documents/stats": f"/documents/stats?collection={NAME}",
            "GET /documents": "/documents",
            "GET /documents?tag=, of 10 documents": "/documents?tag=few",
            "GET /documents?tag=, of half": "/documents?tag=share2",
        }
        plain = {kind: partial(self._client.get, path) for kind, path in paths.items()}
        return plain | {
            "GET /documents?q=, a rare word": lambda: self._mentioning(20_000, 100_000),
            "GET /documents?q=, a frequent word": lambda: self._mentioning(100, 200),
            "GET /documents?q=, no such word": lambda: self._client.get("/documents?q=qqqq"),
        }

    def _mentioning(self, first: int, end: int) -> Any:
        return self._client.get("/documents", {"q": self._draw(1, first, end)})

    def _searches(self) -> dict[str, Request]:
        few = {"type": "eq", "key": "few", "value": True}
        one_in_thousand = {"type": "eq", "key": "unit", "value": "unit 7"}
        years = {"type": "lt", "key": "year", "value": 1951}
        some = {"type": "in", "key": "unit", "value": ["unit 7", "unit 8"]}
        not_half = {"type": "ne", "key": "share2", "value": True}
        return {
            "POST /search, 7 words of a chunk": self._search,
            "POST /search, 5 frequent words": lambda: self._search(self._draw(5, 100, 1_000)),
            "POST /search, 4 words of 5 % and more": lambda: self._search(self._draw(4, 20, 200)),
            "POST /search, semantic": lambda: self._search(mode="semantic"),
            "POST /search, lexical": lambda: self._search(mode="lexical"),
            "POST /search, tag of 10 documents": lambda: self._search(tags=["few"]),
            "POST /search, tag of 1 %": lambda: self._search(tags=["share100"]),
            "POST /search, tag of 10 %": lambda: self._search(tags=["share10"]),
            "POST /search, tag of half": lambda: self._search(tags=["share2"]),
            "POST /search, metadata of 10 documents": lambda: self._search(filters=few),
            "POST /search, metadata of .1 %": lambda: self._search(filters=one_in_thousand),
            "POST /search, metadata in, .2 %": lambda: self._search(filters=some),
            "POST /search, metadata less than, 1.4 %": lambda: self._search(filters=years),
            "POST /search, metadata ne, half": lambda: self._search(filters=not_half),
        }

    def _draw(self, word_count: int, first: int, end: int) -> str:
        """Return words of these ranks, of which 0 is the most frequent."""
        return " ".join(self._chance.sample(self._words[first:end], word_count))

    def _search(self, query: str = "", **body: Any) -> Any:
        words = self._chance.choice(self._texts).text.rstrip(".").split()
        given = {
            "query": query or " ".join(self._chance.sample(words, 7)),
            "collection": NAME, "top_k": 10, "rerank": False, **body,
        }  # fmt: skip
        return self._client.post("/search", given, content_type="application/json")

    def _writes(self) -> dict[str, Request]:
        kept: list[str] = []

        def ingest() -> Any:
            words = [self._chance.choice(self._words) for _ in range(100)]
            body = {"text": f"{next(self._ids)} {' '.join(words)}.", "collection": NAME}
            made = self._client.post("/ingest", body, content_type="application/json")
            kept.append(made.json().get("document_id", ""))
            return made

        return {
            "POST /ingest": ingest,
            "DELETE /documents/{id}": lambda: self._client.delete(f"/documents/{kept.pop()}"),
        }

    def _pages(self) -> dict[str, Request]:
        paths = {
            "page: library": "/ui/library",
            "page: library by name": "/ui/library?sort=name",
            "page: library by type": "/ui/library?sort=-type",
            "page: library by size, of 10 documents": "/ui/library?sort=-size&tag=few",
            "page: library with a word": f"/ui/library?q={self._words[30_000]}",
            "admin: collections": "/admin/corpus/collection/",
            "admin: documents": "/admin/corpus/document/",
            "admin: chunks": "/admin/corpus/chunk/",
            "admin: first page": "/admin/",
        }
        return {kind: partial(self._client.get, path) for kind, path in paths.items()}


def show_growth(chunk_counts: list[int], *, times: int, only: list[str]) -> None:
    kinds = {}
    for chunk_count in chunk_counts:
        use(f"growth_{chunk_count}")
        kinds[chunk_count] = Kinds(seed=1).all()
    sizes = " | ".join(f"{chunk_count:,}, ms" for chunk_count in chunk_counts)
    print(f"| p50 of {times} | {sizes} | ratio |\n|---|{'---|' * len(chunk_counts)}---|")
    for kind in next(iter(kinds.values())):
        if any(part.lower() in kind.lower() for part in only):
            spent = [median(ms) for ms in time_in_turns(kind, kinds, times=times).values()]
            shown = " | ".join(
                f"> {LIMIT_S},000" if ms > LIMIT_S * 1_000 else f"{ms:.1f}" for ms in spent
            )
            print(f"| {kind} | {shown} | {spent[-1] / spent[0]:.1f} |", flush=True)


def time_in_turns(
    kind: str, kinds: dict[int, dict[str, Request]], *, times: int
) -> dict[int, list[float]]:
    """Return the milliseconds of each request by corpus; half of them, the other, and again."""
    spent: dict[int, list[float]] = {chunk_count: [] for chunk_count in kinds}
    for _ in range(2):
        for chunk_count, requests in kinds.items():
            use(f"growth_{chunk_count}")
            spent[chunk_count] += list(_time(requests[kind], times // 2))
    return spent


def _time(request: Request, times: int) -> Iterator[float]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{LIMIT_S}s'")
    begun = time.perf_counter()
    for number in range(times + WARM_UPS):
        started = time.perf_counter()
        status = request().status_code
        ms = (time.perf_counter() - started) * 1_000
        is_last = time.perf_counter() - begun > TURN_S
        if status >= 400 and ms < LIMIT_S * 1_000:
            raise SystemExit(f"a request failed: {status}")
        if number >= WARM_UPS or is_last:
            yield ms
        if is_last:
            return


def show_verify(chunk_counts: list[int]) -> None:
    spent: dict[int, list[tuple[float, ...]]] = {chunk_count: [] for chunk_count in chunk_counts}
    for chunk_count in chunk_counts:
        use(f"growth_{chunk_count}")
        fill_token_vectors()
    for _ in range(VERIFICATIONS):
        for chunk_count, turns in spent.items():
            use(f"growth_{chunk_count}")
            with connection.cursor() as cursor:
                # All that it does is done by one process, whose time the system counts.
                cursor.execute("SET max_parallel_workers_per_gather = 0")
                cursor.execute("SELECT pg_backend_pid()")
                backend = cursor.fetchone()[0]
            before = _clocks(backend)
            call_command("verify")
            turns.append(tuple(np.subtract(_clocks(backend), before)))
    for chunk_count, turns in spent.items():
        wall, own, postgres = (median(turn) for turn in zip(*turns, strict=True))
        print(
            f"{chunk_count:,} chunks: verify {wall:.1f} s; of a core {postgres:.1f} s in Postgres,"
            f" {own:.1f} s in Python"
        )


def _clocks(backend: int) -> tuple[float, float, float]:
    """Return seconds: of the clock, of a core here, and of a core by a process of Postgres."""
    fields = Path(f"/proc/{backend}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    return time.perf_counter(), time.process_time(), ticks / os.sysconf("SC_CLK_TCK")


def show_recall(chunk_count: int) -> None:
    use(f"growth_{chunk_count}")
    collection = Collection.objects.named(NAME)
    queries = draw_vectors(ASKED, DIMENSION, seed=99)
    wanted = ", ".join(f"recall@{rows} of the {rows} nearest" for rows in NEAREST)
    print(f"| {chunk_count:,} chunks, visible | {wanted}, least of a query | p50, p95 ms |")
    print("|---|---|---|")
    for tag in (*(f"share{share}" for share in reversed(SHARES)), ""):
        rows = Embedding.objects.filter(collection=collection).tagged([tag] if tag else [])
        found_share: dict[int, list[float]] = {rows_wanted: [] for rows_wanted in NEAREST}
        spent = []
        for query in queries:
            started = time.perf_counter()
            found = rows.find_nearest(query[None], model=NAME, count=max(NEAREST))
            spent.append((time.perf_counter() - started) * 1_000)
            exact = [key for key, _ in rows.at_distance(query[None], model=NAME)[: max(NEAREST)]]
            ranked = [key for key, _ in found]
            for wanted_rows, shares in found_share.items():
                best = set(exact[:wanted_rows])
                shares.append(len(best & set(ranked[:wanted_rows])) / max(len(best), 1))
        shown = ", ".join(f"{mean(shares):.3f}" for shares in found_share.values())
        least = ", ".join(f"{min(shares):.2f}" for shares in found_share.values())
        p50, p95 = np.percentile(spent, [50, 95])
        print(f"| {tag or 'all'} | {shown}, {least} | {p50:.1f}, {p95:.1f} |", flush=True)


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
