"""Migrations leave the same schema however they went, and take over what was squashed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import DjangoDbBlocker

from corpus.api.outages import is_migrated
from corpus.models import Document, DocumentContent
from pkb.management.atomic_migrations import Target, migrate_to
from tests.support.processes import connected_to, own_database
from tests.upgrades.schema import read_schema

APPS = ("corpus", "qa", "accounts", "evaluation")
# One with a version, one without.
DOCUMENTS = """
INSERT INTO corpus_document (id, collection_id, source_uri, source, title, media_type, raw_text,
       outline, content_sha256, metadata, chapter, section, word_count, char_count, chunk_count,
       status, error, file_path, file_hash, settings_sha256, created_at, updated_at)
SELECT gen_random_uuid(), k.id, '', '', d.title, 'text/plain', d.raw_text, d.outline, d.sha256,
       '{}', '', '', 0, 0, 0, 'failed', 'why', '', '', '', now(), now()
  FROM (SELECT id FROM corpus_collection LIMIT 1) k,
       (VALUES ('Bread', 'Rye and water.', '{"pages": [[0, 1]]}'::jsonb, repeat('0', 64)),
               ('Unread', '', '{}', '')) d(title, raw_text, outline, sha256)
"""
EMPTY: list[Target] = [(app, None) for app in APPS]


class Killed(BaseException):
    """As if the process had died: nothing on the way handles it."""


@pytest.fixture(autouse=True)
def database(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    name = "test_upgrades"
    with django_db_blocker.unblock(), own_database(name), connected_to(name):
        yield


def newest() -> list[Target]:
    return list(MigrationExecutor(connection).loader.graph.leaf_nodes())


def migrate_until(killed_at: str) -> None:
    """Migrate, and die at the first statement with these words."""

    def die(execute: Any, statement: str, values: Any, *rest: Any) -> Any:
        if killed_at in f"{statement} {values}":
            raise Killed
        return execute(statement, values, *rest)

    with pytest.raises(Killed), connection.execute_wrapper(die):
        migrate_to(newest())
    connection.close()
    del connections[connection.alias]  # with what it believes of transactions


def test_there_and_back_again_makes_the_same_schema_whatever_kills_it() -> None:
    schema = read_schema()
    migrate_to(EMPTY)
    assert "column corpus_document.title" not in read_schema()
    for statement in ("CREATE POLICY corpus_tag_read", "0001_questions"):
        migrate_until(killed_at=statement)
        assert not is_migrated()
    migrate_to(newest())
    assert read_schema() == schema
    assert is_migrated()


def test_texts_move_to_rows_of_their_own_and_back() -> None:
    before: list[Target] = [("corpus", "0001_tables")]
    migrate_to(before)
    with connection.cursor() as cursor:
        cursor.execute(DOCUMENTS)
    migrate_to(newest())
    stored = DocumentContent.objects.values_list("document__title", "text", "outline")
    assert list(stored) == [("Bread", "Rye and water.", {"pages": [[0, 1]]})]
    assert Document.objects.count() == 2
    migrate_to(before)
    with connection.cursor() as cursor:
        cursor.execute("SELECT title, raw_text, outline FROM corpus_document ORDER BY title")
        assert cursor.fetchall() == [
            ("Bread", "Rye and water.", '{"pages": [[0, 1]]}'), ("Unread", "", "{}"),
        ]  # fmt: skip


def test_a_database_of_squashed_migrations_is_taken_over_as_it_is() -> None:
    recorder = MigrationRecorder(connection)
    loader = MigrationExecutor(connection).loader
    for app in APPS:
        recorder.record_unapplied(app, "0001_tables")
        for _, name in loader.disk_migrations[app, "0001_tables"].replaces:
            recorder.record_applied(app, name)
    schema = read_schema()
    migrate_to(newest())
    assert is_migrated()
    assert read_schema() == schema
