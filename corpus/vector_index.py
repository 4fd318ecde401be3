"""The HNSW index of each model's vectors, created when the model is first used."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

from django.db import connection, transaction

from corpus.postgres import as_owner, execute, text_key

# pgvector's defaults; for their recall see docs/decisions/0012.
HNSW_M = 16
HNSW_EF_CONSTRUCTION = 64
POLL_S = 0.05
# Memory of a vector's links at m = 16 while the graph is built, besides two bytes a dimension
# (docs/decisions/0012). A graph that exceeds its memory is built on disk, which is slow.
LINKS_BYTES = 800
# Share of effective_cache_size; an eighth of the memory with the embedded server.
SHARE_OF_CACHE = 0.25

# Vectors of the index for each candidate of ef_search, if that exceeds PKB_HNSW_EF_SEARCH; fewer
# candidates miss nearest vectors of a large index (docs/decisions/0012).
VECTORS_A_CANDIDATE = 1_667
MAX_CANDIDATES = 1_000  # maximum of pgvector

_SET_EF_SEARCH = """
SELECT set_config('hnsw.ef_search',
                  greatest(current_setting('hnsw.ef_search')::int, %s)::text, true)
"""
_INDEXED = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = to_regclass(%s)"
_MEMORY = """
SELECT (SELECT count(*) FROM corpus_embedding WHERE model = %s),
       pg_size_bytes(current_setting('maintenance_work_mem')),
       pg_size_bytes(current_setting('effective_cache_size'))
"""
_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


def vector_index_name(model: str) -> str:
    return f"embedding_hnsw_{hashlib.sha256(model.encode()).hexdigest()[:16]}"


def count_indexed(model: str) -> int:
    """Return the approximate number of vectors in the model's index, as of its last vacuum."""
    rows = execute(_INDEXED, [vector_index_name(model)])
    return int(rows[0][0]) if rows else 0


@contextmanager
def scaled_ef_search(indexed: int) -> Iterator[None]:
    """Open a transaction with ``ef_search`` scaled to the size of the index."""
    candidates = min(indexed // VECTORS_A_CANDIDATE, MAX_CANDIDATES)
    with transaction.atomic(savepoint=False):
        execute(_SET_EF_SEARCH, [candidates])
        yield


def ensure_vector_index(*, model: str, dimension: int) -> None:
    """Create the model's partial HNSW index in half precision, unless it exists.

    Outside of a transaction, writers are not blocked. An unfinished index is dropped and created
    again. Concurrent callers wait for each other.
    """
    name = vector_index_name(model)
    if _is_valid(name):
        return
    concurrently = "" if connection.in_atomic_block else "CONCURRENTLY"
    with as_owner(), _index_lock(name):
        is_valid = _is_valid(name)
        if is_valid:
            return
        if is_valid is not None:
            execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        if connection.in_atomic_block:
            # CREATE INDEX fails while deferred checks of this transaction are pending.
            execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        with _memory_for(model, dimension=dimension):
            # Django binds parameters in the client, so that one may stand in a CREATE INDEX.
            execute(
                f"CREATE INDEX {concurrently} IF NOT EXISTS {name} ON corpus_embedding"
                f" USING hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops)"
                f" WITH (m = {HNSW_M}, ef_construction = {HNSW_EF_CONSTRUCTION})"
                " WHERE model = %s",
                [model],
            )


@contextmanager
def _memory_for(model: str, *, dimension: int) -> Iterator[None]:
    """Raise the memory of the index build if it needs more and the server has enough."""
    [(count, work_mem_bytes, cache_bytes)] = execute(_MEMORY, [model])
    needed_bytes = count * (2 * dimension + LINKS_BYTES)
    if not work_mem_bytes < needed_bytes <= SHARE_OF_CACHE * cache_bytes:
        yield
        return
    # Without parallel workers: they would share the memory in /dev/shm, which may be too small.
    options = {
        "maintenance_work_mem": f"{needed_bytes // 1_024 + 1}kB",
        "max_parallel_maintenance_workers": "0",
    }
    for name, value in options.items():
        execute("SELECT set_config(%s, %s, %s)", [name, value, connection.in_atomic_block])
    try:
        yield
    finally:
        if not connection.in_atomic_block:
            for name in options:
                execute(f"RESET {name}")


def _is_valid(name: str) -> bool | None:
    """Return whether an index is finished; None if there is none."""
    rows = execute(_IS_VALID, [name])
    return bool(rows[0][0]) if rows else None


@contextmanager
def _index_lock(name: str) -> Iterator[None]:
    """Lock the creation of an index.

    The lock is polled: a waiting statement would hold a snapshot, which CREATE INDEX CONCURRENTLY
    waits for.
    """
    key = text_key(name)
    is_atomic = connection.in_atomic_block
    lock = f"SELECT pg_try_advisory{'_xact' if is_atomic else ''}_lock(%s)"
    while execute(lock, [key]) != [(True,)]:
        sleep(POLL_S)
    try:
        yield
    finally:
        if not is_atomic:
            execute("SELECT pg_advisory_unlock(%s)", [key])
