"""What the first release stored is there in the newest, whichever way and however often it went."""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from django.apps import apps
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from numpy.typing import NDArray
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from corpus import invariants
from corpus.models import Document
from pkb.management.whole_migrations import Target, migrate_to
from qa.models import Answer
from tests.database import tables
from tests.processes import connected_to, database_url, finish, manage, own_database
from tests.upgrades.schema import read_schema

FIRST: list[Target] = [
    ("corpus", "0008_add_collection_map"),
    ("qa", "0004_feedback"),
    ("accounts", None),
]
FILLED = Path(__file__).with_name("first_release.sql")
NOTED = 'INSERT INTO "django_migrations"'
WITH_REFERENCES = "0012_keep_token_vectors"
# Some of the 150 or so that are left then.
SOME_STATEMENTS = 60
# Newer releases keep less of a deleted document (docs/guides/delete.md). Events of a stream live
# for minutes and may belong to it.
ERASED = {"corpus_idempotentrequest": 1, "qa_answer": 1, "qa_citation": 1, "qa_chatevent": 1}

# More than any migration makes.
MOST_STATEMENTS = 70
KILLED_PROCESSES = 6
# They build indexes beside what others do, but for one.
NO_TRANSACTION = (
    "0009_say_what_items_are_about",
    "0010_index_metadata",
    "0011_index_lists",
    "0018_sort_documents",
    # It writes a table anew.
    "0035_keep_words_in_the_row",
)
OURS = ("corpus_", "qa_", "evaluation_", "auth_")
# Vectors are kept in halves, which they stay on the way back.
PRINTED = {
    "corpus_embedding": "ROW(id, chunk_id, collection_id, model, dimension, input_sha256,"
    " created_at, vector::halfvec)"
}
WRITTEN_BY_MIGRATIONS = {"auth_permission", "corpus_collectionchange"}

Rows = dict[str, set[str]]


class Killed(BaseException):
    """As if the process had died: nothing on the way handles it."""


class Installation(NamedTuple):
    """A database that the first release has filled, to which the process is connected.

    Attributes:
        newest: The schema that the newest migrations make.
    """

    rows: Rows
    newest: dict[str, str]


@pytest.fixture
def first_release(django_db_blocker: DjangoDbBlocker) -> Iterator[Installation]:
    name = "test_upgrades"
    with django_db_blocker.unblock(), own_database(name), connected_to(name):
        newest = read_schema()
        migrate_to(FIRST)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM corpus_collection")
            cursor.execute(FILLED.read_text(encoding="utf-8"))
        yield Installation(_rows(), newest)


def _rows() -> Rows:
    """The rows of each table of ours, as Postgres prints them."""
    found = {}
    for name in tables():
        if not name.startswith(OURS) or name in WRITTEN_BY_MIGRATIONS:
            continue
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {PRINTED.get(name, 't')}::text FROM {name} t")  # noqa: S608
            found[name] = {row for (row,) in cursor.fetchall()}
    return found


def _newest() -> list[Target]:
    return list(MigrationExecutor(connection).loader.graph.leaf_nodes())


def _killed_at(moment: Callable[[int, str], bool], targets: list[Target]) -> bool:
    """Migrate, and die at a statement, told by its number and text; return whether it came."""
    made, has_died = 0, False

    def die(execute: Any, statement: str, values: Any, *rest: Any) -> Any:
        nonlocal made, has_died
        made += 1
        if not has_died and moment(made, f"{statement} {values}"):
            has_died = True  # once: transactions are rolled back by statements
            raise Killed
        return execute(statement, values, *rest)

    try:
        with connection.execute_wrapper(die):
            migrate_to(targets)
    except Killed:
        return True
    finally:
        connection.close()
        del connections[connection.alias]  # with what it believes of transactions
    return False


def _killed_after(count: int, targets: list[Target]) -> bool:
    return _killed_at(lambda made, _: made > count, targets)


def _assert_readable(api: APIClient) -> None:
    """All that is stored is read through the models and told by the API."""
    assert list(invariants.find_violations()) == []
    for model in apps.get_models():
        list(model._default_manager.all())

    def told(address: str) -> Any:
        reply = api.get(address)
        assert reply.status_code == 200, (address, reply.content)
        return reply.json()

    documents = told("/documents")
    for document in Document.objects.all():
        told(f"/documents/{document.pk}")
    for answer in Answer.objects.all():
        told(f"/answers/{answer.pk}")
    assert documents
    for address in ("/collections", "/tags", "/documents/stats", "/health"):
        told(address)
    for job in told("/jobs")["results"]:
        told(f"/jobs/{job['id']}")
    query = {"query": "lighthouse 1874", "collection": "default", "mode": "lexical"}
    found = api.post("/search", query, format="json")
    assert found.json()["total_results"] == 1


def test_rows_of_the_first_release_go_forwards_back_and_forwards_again(
    first_release: Installation, api: APIClient
) -> None:
    # The tables are made, references and all, and not noted yet.
    assert _killed_at(lambda _, text: NOTED in text and WITH_REFERENCES in text, _newest())
    assert _killed_after(SOME_STATEMENTS, _newest())
    migrate_to(_newest())
    assert read_schema() == first_release.newest
    _assert_readable(api)
    forwards = _rows()
    migrate_to(FIRST)
    back = _rows()
    lost = {name: len(rows - back[name]) for name, rows in first_release.rows.items()}
    assert {name: count for name, count in lost.items() if count} == ERASED
    migrate_to(_newest())
    assert read_schema() == first_release.newest
    assert _rows() == forwards


def test_vectors_go_into_halves_and_back_with_their_indexes(first_release: Installation) -> None:
    halves = "0034_keep_vectors_in_halves"
    migrate_to([("corpus", _before(halves))])
    before, indexes = _vectors(), _vector_indexes()
    assert len(before) > 3
    assert len(indexes) > 1
    in_halves = {key: vector.astype(np.float16) for key, vector in before.items()}
    for target, kind in ((halves, "halfvec"), (_before(halves), "vector"), (halves, "halfvec")):
        migrate_to([("corpus", target)])
        assert read_schema()["column corpus_embedding.vector"].startswith(f"{kind} ")
        assert _vector_indexes() == indexes
        assert all(np.array_equal(vector, in_halves[key]) for key, vector in _vectors().items())


def test_words_move_into_the_rows_that_are_there_and_back(first_release: Installation) -> None:
    moves = "0035_keep_words_in_the_row"
    files = set()
    for target, storage in ((_before(moves), "x"), (moves, "m"), (_before(moves), "x")):
        migrate_to([("corpus", target)])
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT attstorage::text, pg_relation_filenode(attrelid) FROM pg_attribute"
                " WHERE attrelid = 'corpus_chunk'::regclass AND attname = 'lexemes'"
            )
            kept, file = cursor.fetchone()
        assert kept == storage
        files.add(file)
    assert len(files) == 3


def _vectors() -> dict[int, NDArray[np.float32]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, vector::text FROM corpus_embedding")
        return {key: np.array(json.loads(text), np.float32) for key, text in cursor.fetchall()}


def _vector_indexes() -> dict[str, bool]:
    """Whether each is valid, by its definition."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_indexdef(indexrelid), indisvalid FROM pg_index"
            " WHERE indrelid = 'corpus_embedding'::regclass AND strpos("
            "indexrelid::regclass::text, 'embedding_hnsw_') > 0"
        )
        return dict(cursor.fetchall())


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
def test_migrations_killed_at_random_statements_make_the_same_schema(
    first_release: Installation,
) -> None:
    chosen = random.Random(1)  # noqa: S311  (of statements)
    first = read_schema()
    kills = 0
    for _ in range(2):
        for targets, schema in ((_newest(), first_release.newest), (FIRST, first)):
            while _killed_after(chosen.randrange(MOST_STATEMENTS), targets):
                kills += 1
            assert read_schema() == schema
    assert kills > 10


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
def test_what_is_no_transaction_goes_on_from_each_of_its_statements(
    first_release: Installation,
) -> None:
    first = read_schema()
    for name in NO_TRANSACTION:
        migrate_to([("corpus", _before(name))])
        _kill_at_each_statement([("corpus", name)])
    migrate_to(_newest())
    assert read_schema() == first_release.newest
    for name in reversed(NO_TRANSACTION):
        migrate_to([("corpus", name)])
        _kill_at_each_statement([("corpus", _before(name))])
    migrate_to(FIRST)
    assert read_schema() == first
    migrate_to(_newest())
    assert read_schema() == first_release.newest


def _before(name: str) -> str:
    ((_, before),) = MigrationExecutor(connection).loader.graph.node_map["corpus", name].parents
    return str(before)


def _kill_at_each_statement(targets: list[Target]) -> None:
    count = 0
    while _killed_after(count, targets):
        count += 1
    assert count > 0


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
def test_killed_processes_leave_what_the_next_goes_on_from(first_release: Installation) -> None:
    database = database_url(str(connection.settings_dict["NAME"]))
    connection.close()
    chosen = random.Random(2)  # noqa: S311  (of moments)
    begun = time.monotonic()
    finish("check", database=database)
    start_s = time.monotonic() - begun
    for _ in range(KILLED_PROCESSES):
        process = manage("migrate", "--verbosity", "0", database=database)
        time.sleep(chosen.uniform(0.5, 2) * start_s)
        process.kill()
        process.communicate()
    status, _, errors = finish("migrate", "--verbosity", "0", database=database)
    assert status == 0, errors
    assert read_schema() == first_release.newest
    assert list(invariants.find_violations()) == []
