"""One index a model, side by side, made without holding up writers, once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest
from django.db import OperationalError, connection, connections
from numpy.typing import NDArray

from corpus.access.principal import bind_principal
from corpus.catalogue import create_collection
from corpus.embedders import get_embedder
from corpus.models import Embedding
from corpus.vector_index import (
    LINKS_BYTES,
    _memory_for,
    ensure_vector_index,
    vector_index_name,
)
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, ingest_text_of
from tests.support.waiting import wait_until

MODEL = "hashing-77"
LOCK = "LOCK TABLE corpus_embedding IN ROW EXCLUSIVE MODE NOWAIT"


@contextmanager
def other_connection() -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    given = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    with psycopg.connect(**{name: given[name] for name in names if given.get(name)}) as other:
        yield other


def make_index(timeout_ms: int = 0) -> None:
    """On a connection of this thread, outside of the test's transaction."""
    execute("SET statement_timeout = %s", timeout_ms)
    try:
        ensure_vector_index(model=MODEL, dimension=77)
    finally:
        execute("RESET statement_timeout")
        connections.close_all()


def states() -> list[bool]:
    of_index = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
    return [is_valid for (is_valid,) in execute(of_index, vector_index_name(MODEL))]


@pytest.fixture
def no_index(db: None) -> Iterator[None]:
    yield
    with other_connection() as other:
        other.execute(f"DROP INDEX IF EXISTS {vector_index_name(MODEL)}".encode())


@pytest.mark.usefixtures("no_index")
def test_writers_go_on_while_an_index_is_made() -> None:
    with ThreadPoolExecutor(1) as pool, other_connection() as first, other_connection() as second:
        first.execute(LOCK)  # the index waits for this writer
        making = pool.submit(bind_principal(make_index))
        wait_until(lambda: states() == [False])
        second.execute(LOCK)
        assert not making.done()
        second.rollback()
        first.rollback()
        making.result(timeout=60)
    assert states() == [True]


@pytest.mark.usefixtures("no_index")
def test_many_who_ask_at_once_make_one() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(bind_principal(make_index)) for _ in range(4)]
        for each in made:
            each.result(timeout=60)
    assert states() == [True]


@pytest.mark.usefixtures("no_index")
def test_one_that_was_cut_off_is_made_anew() -> None:
    with ThreadPoolExecutor(1) as pool:
        with other_connection() as writer:
            writer.execute(LOCK)
            with pytest.raises(OperationalError):
                pool.submit(bind_principal(make_index), 500).result(timeout=60)
        assert states() == [False]
        pool.submit(bind_principal(make_index)).result(timeout=60)
    assert states() == [True]


def memory(settings: str, *, dimension: int) -> list[str]:
    """The memory and helpers of a build of five vectors, on a server set so."""
    names = ("maintenance_work_mem", "max_parallel_maintenance_workers")
    execute(settings)
    with _memory_for(MODEL, dimension=dimension):
        (values,) = execute(f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}")
    return list(values)


def test_a_graph_gets_the_memory_that_it_needs() -> None:
    made = create_collection("few", embedding_model=MODEL)
    for number in range(5):
        ingest_text_of(made)(f"{BAKERY} Number {number}.")
    given = "SET LOCAL maintenance_work_mem = '64MB'; SET LOCAL effective_cache_size = '1GB';"
    # Vectors of 20 MB, so that five are many bytes.
    dimension = 10 * 2**20
    enough = memory(given, dimension=77)
    assert enough[0] == "64MB"
    assert enough[1] != "0"
    more = (5 * (2 * dimension + LINKS_BYTES)) // 1_024 + 1
    scarce = (
        given + "SET LOCAL effective_cache_size = '200MB'; RESET max_parallel_maintenance_workers"
    )
    assert memory(scarce, dimension=dimension) == enough
    assert memory(given, dimension=dimension) == [f"{more}kB", "0"]


@pytest.mark.parametrize("dimension", [384, 768, 1_536, 3_840])
def test_a_vector_lies_in_its_row_in_half_precision(dimension: int) -> None:
    made = create_collection("halves", embedding_model=f"hashing-{dimension}")
    lighthouse = ingest_text_of(made)(LIGHTHOUSE)
    place = "SELECT pg_column_toast_chunk_id(vector), pg_column_size(vector) FROM corpus_embedding"
    ((moved_to, size_bytes),) = execute(f"{place} WHERE chunk_id = %s", lighthouse.chunk_ids[0])
    assert moved_to is None
    assert size_bytes < 2 * dimension + 16


def test_what_was_embedded_before_comes_as_it_is_stored() -> None:
    made = create_collection("again", embedding_model="hashing-384")
    embedder = get_embedder("hashing-384")
    ingest_text_of(made)(LIGHTHOUSE)
    digest = Embedding.objects.get(collection=made).input_sha256
    vector = Embedding.objects.of_inputs([digest], model=embedder.name)[digest]
    assert vector.dtype == np.float32
    stored = Embedding.objects.filter(collection=made)
    is_same = "SELECT vector = %s::halfvec FROM corpus_embedding WHERE collection_id = %s"
    assert execute(is_same, str(vector.tolist()), made.pk) == [(True,)]
    (found,) = stored.find_nearest(vector[None], model=embedder.name, count=5, among=1)
    assert found[1] == pytest.approx(0, abs=1e-6)


def test_collections_of_several_dimensions_live_side_by_side() -> None:
    for dimension in (384, 768, 1_024, 1_536):
        made = create_collection(f"d{dimension}", embedding_model=f"hashing-{dimension}")
        ingest = ingest_text_of(made)
        lighthouse = ingest(LIGHTHOUSE)
        ingest(BAKERY)
        vectors = Embedding.objects.filter(collection=made)
        query = vectors.get(chunk_id=lighthouse.chunk_ids[0]).vector
        found = vectors.find_nearest(
            np.array([query]), model=made.embedding_model, count=5, among=2
        )
        assert str(found[0][0]) == lighthouse.chunk_ids[0]
        assert len(found) == 2
        assert plan(np.array(query), made.embedding_model) == vector_index_name(
            made.embedding_model
        )


def plan(query: NDArray[np.float32], model: str) -> str:
    """Which index the ordered search takes, were there many rows."""
    rows = Embedding.objects.nearest(query, model=model).values_list("chunk_id")[:5]
    execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    names = [vector_index_name(f"hashing-{d}") for d in (384, 768, 1_024, 1_536)]
    explained = rows.explain()
    return next(name for name in names if name in explained)
