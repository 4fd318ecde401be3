"""The index of each model's vectors, made when the model is first used."""

import hashlib

from django.db import connection

# pgvector's own defaults; at 100,000 vectors they gave recall .988 at ef_search 40.
HNSW_M = 16
HNSW_EF_CONSTRUCTION = 64

_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


def vector_index_name(model: str) -> str:
    return f"embedding_hnsw_{hashlib.sha256(model.encode()).hexdigest()[:16]}"


def ensure_vector_index(*, model: str, dimension: int) -> None:
    """Make the model's partial HNSW index in half precision, unless it is there.

    Outside of a transaction it is made without blocking writers; one that was cut off half-way
    is made anew.
    """
    name = vector_index_name(model)
    concurrently = "" if connection.in_atomic_block else "CONCURRENTLY"
    with connection.cursor() as cursor:
        cursor.execute(_IS_VALID, [name])
        found = cursor.fetchone()
        if found == (True,):
            return
        if found is not None:
            cursor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        # Django binds parameters in the client, so that one may stand in a CREATE INDEX.
        cursor.execute(
            f"CREATE INDEX {concurrently} IF NOT EXISTS {name} ON corpus_embedding"
            f" USING hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops)"
            f" WITH (m = {HNSW_M}, ef_construction = {HNSW_EF_CONSTRUCTION})"
            " WHERE model = %s",
            [model],
        )
