"""The index of each model's vectors, made when the model is first used."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from corpus.postgres.owner import as_owner

# pgvector's own defaults; what they find is in docs/decisions/0012.
HNSW_M = 16
HNSW_EF_CONSTRUCTION = 64
POLL_S = 0.05
# What a vector takes in memory while the graph is made: two bytes a dimension, and its links (their
# room at m = 16; docs/decisions/0012). Once the graph outgrows its memory each further vector is
# written and read back.
LINKS_BYTES = 800
# Of what the server believes its machine has for files: an eighth of the embedded one's memory.
SHARE_OF_CACHE = 0.25

# Vectors for each candidate that a scan keeps, where that is more than PKB_HNSW_EF_SEARCH: among
# more of them the nearest are lost behind others that are near (docs/decisions/0012).
VECTORS_A_CANDIDATE = 1_667
MOST_CANDIDATES = 1_000  # that pgvector takes

_KEEP_CANDIDATES = """
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
    """Return about how many vectors the model's index holds: as of its last vacuum."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXED, [vector_index_name(model)])
        found = cursor.fetchone()
    return int(found[0]) if found else 0


@contextmanager
def scaled_ef_search(indexed: int) -> Iterator[None]:
    """Be in a transaction, in which scans keep as many candidates as so many vectors need."""
    wanted = min(indexed // VECTORS_A_CANDIDATE, MOST_CANDIDATES)
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute(_KEEP_CANDIDATES, [wanted])
        yield


def ensure_vector_index(*, model: str, dimension: int) -> None:
    """Make the model's partial HNSW index in half precision, unless it is there.

    Outside of a transaction it is made without blocking writers; one that was cut off half-way
    is made anew. Of several that ask at once one makes it, and the others wait.
    """
    name = vector_index_name(model)
    if _is_valid(name):
        return
    concurrently = "" if connection.in_atomic_block else "CONCURRENTLY"
    with as_owner(), _index_lock(name), connection.cursor() as cursor:
        found = _is_valid(name)
        if found:
            return
        if found is not None:
            cursor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        if connection.in_atomic_block:
            # An index is not made while checks of this transaction's rows are pending.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        with _memory_for(model, dimension=dimension, cursor=cursor):
            # Django binds parameters in the client, so that one may stand in a CREATE INDEX.
            cursor.execute(
                f"CREATE INDEX {concurrently} IF NOT EXISTS {name} ON corpus_embedding"
                f" USING hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops)"
                f" WITH (m = {HNSW_M}, ef_construction = {HNSW_EF_CONSTRUCTION})"
                " WHERE model = %s",
                [model],
            )


@contextmanager
def _memory_for(model: str, *, dimension: int, cursor: CursorWrapper) -> Iterator[None]:
    """Give the graph the memory that it needs, where the server gives less and has as much."""
    cursor.execute(_MEMORY, [model])
    count, given_bytes, cache_bytes = cursor.fetchone()
    needed_bytes = count * (2 * dimension + LINKS_BYTES)
    if not given_bytes < needed_bytes <= SHARE_OF_CACHE * cache_bytes:
        yield
        return
    # Alone: workers would share the memory by /dev/shm, which was made for what the server gives.
    wanted = {
        "maintenance_work_mem": f"{needed_bytes // 1_024 + 1}kB",
        "max_parallel_maintenance_workers": "0",
    }
    for name, value in wanted.items():
        cursor.execute("SELECT set_config(%s, %s, %s)", [name, value, connection.in_atomic_block])
    try:
        yield
    finally:
        if not connection.in_atomic_block:
            for name in wanted:
                cursor.execute(f"RESET {name}")


def _is_valid(name: str) -> bool | None:
    """None where there is no such index; False where it is unfinished."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_VALID, [name])
        found = cursor.fetchone()
    return None if found is None else bool(found[0])


@contextmanager
def _index_lock(name: str) -> Iterator[None]:
    """Be the only one to make this index.

    The lock is polled for: a statement that waited for it would hold a snapshot, which
    CREATE INDEX CONCURRENTLY waits for in turn.
    """
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
    is_atomic = connection.in_atomic_block
    take = f"SELECT pg_try_advisory{'_xact' if is_atomic else ''}_lock(%s)"
    with connection.cursor() as cursor:
        while not _ask(cursor, take, key):
            sleep(POLL_S)
        try:
            yield
        finally:
            if not is_atomic:
                _ask(cursor, "SELECT pg_advisory_unlock(%s)", key)


def _ask(cursor: CursorWrapper, query: str, key: int) -> bool:
    cursor.execute(query, [key])
    return bool(cursor.fetchone()[0])
