"""Recall of vector search by the share of visible rows, for ``growth.py``."""

import time
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from request_kinds import BY_SHARE, percent
from synthetic_corpus import NAME, draw_vectors

from corpus.filters import parse_filter
from corpus.models import Collection, Embedding
from qa.search.hybrid import CandidateSearch
from qa.types import Query

QUERIES = 20
# Number of nearest rows, the maximum of a request.
NEAREST = (10, 50)
# Units of 0.1 % of the documents each: near the limit of exact search.
UNITS = (1, 2, 5, 8, 20)


def show_recall(chunk_count: int, *, dimension: int) -> None:
    """Print a line for each share and query form, for the connected corpus."""
    collection = Collection.objects.get_named(NAME)
    queries = draw_vectors(QUERIES, dimension, seed=99)
    depths = ", ".join(f"@{rows}" for rows in NEAREST)
    print(f"| {chunk_count:,} chunks, visible | recall {depths} | least of a query | p50, p95 ms |")
    print("|---|---|---|---|")
    exact: dict[str, list[list[UUID]]] = {}
    for share, way, selected in _selections():
        if share not in exact:
            exact[share] = [_nearest(selected, collection, query) for query in queries]
        print(f"| {share}, {way} | {_compare(selected, collection, queries, exact[share])} |")


def _selections() -> Iterator[tuple[str, str, Query]]:
    query = Query("", collection=NAME)
    for share, name in BY_SHARE.items():
        equal = {"type": "eq", "key": name, "value": True}
        yield percent(share), "tag", replace(query, tags=(name,))
        yield percent(share), "metadata", replace(query, filters=parse_filter(equal))
    for count in UNITS:
        units = {"type": "in", "key": "unit", "value": [f"unit {each}" for each in range(count)]}
        some = replace(query, filters=parse_filter(units))
        yield f"{count / 10:g} %".removeprefix("0"), "metadata", some
    yield "all", "", query


def _nearest(wanted: Query, collection: Collection, query: NDArray[np.float32]) -> list[UUID]:
    rows = Embedding.objects.filter(collection=collection).tagged(wanted.tags)
    rows = rows.matching_filter(wanted.filters) if wanted.filters else rows
    found = rows.with_exact_distance(query[None], model=NAME)[: max(NEAREST)]
    return [key for key, _ in found]


def _compare(
    wanted: Query,
    collection: Collection,
    queries: NDArray[np.float32],
    exact: list[list[UUID]],
) -> str:
    spent, shares = [], []
    for query, best in zip(queries, exact, strict=True):
        candidates = CandidateSearch(wanted, [collection], vectors=query[None], count=max(NEAREST))
        started = time.perf_counter()
        keys = list(candidates.search_vectors())
        spent.append((time.perf_counter() - started) * 1_000)
        shares.append([len({*best[:n]} & {*keys[:n]}) / len(best[:n]) for n in NEAREST])
    mean = ", ".join(f"{share:.3f}" for share in np.mean(shares, axis=0))
    least = ", ".join(f"{share:.2f}" for share in np.min(shares, axis=0))
    p50, p95 = np.percentile(spent, [50, 95])
    return f"{mean} | {least} | {p50:.1f}, {p95:.1f}"
