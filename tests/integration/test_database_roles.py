"""The role that serves does its work by what it was granted, and cannot get around a policy."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings as configured
from django.contrib.auth import get_user_model
from django.contrib.postgres.search import SearchQuery
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection, connections, transaction
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.models import QuerySet
from django.db.models.functions import Lower

from accounts.audit import purge_events, record_event
from accounts.authentication import principal_of
from accounts.models import Event
from corpus.access.principal import SYSTEM, acting_as
from corpus.catalogue import create_collection
from corpus.filters import parse_filter
from corpus.models import (
    Chunk,
    Collection,
    CollectionAccess,
    Document,
    Grant,
    IdempotentRequest,
    Tag,
)
from corpus.postgres import ROLE_CHECKS, as_owner
from corpus.vector_index import ensure_vector_index, vector_index_name
from pkb.postgres.roles import ensure_database
from pkb.postgres.server import SUPERUSER
from tests.support.client import Api
from tests.support.database import execute
from tests.support.documents import LIGHTHOUSE, ingest_text_of
from tests.support.processes import OWNER, SERVING, administering, own_database

pytestmark = pytest.mark.skipif(SERVING == OWNER, reason="a server of yours, of one role")
embedded = pytest.mark.skipif(configured.PKB_POSTGRES_DIR is None, reason="a server of yours")

NAME = f"test_roles_{os.getpid()}"


@pytest.fixture(scope="module")
def database(django_db_blocker: Any) -> Iterator[str]:
    with django_db_blocker.unblock(), own_database(NAME) as url:
        yield url


@pytest.fixture
def serving(database: str) -> Iterator[None]:
    """Let ``connection`` be that of a process that serves: of another role, from a pool."""
    tests_own = connections[DEFAULT_DB_ALIAS]
    options = {k: v for k, v in tests_own.settings_dict["OPTIONS"].items() if k != "pool"}
    as_served = {**tests_own.settings_dict, **SERVING, "NAME": NAME, "OPTIONS": options}
    connections[DEFAULT_DB_ALIAS] = type(tests_own)(as_served, DEFAULT_DB_ALIAS)
    connections.settings[DEFAULT_DB_ALIAS]["USER"] = SERVING["USER"]
    try:
        yield
    finally:
        connection.close()
        connections[DEFAULT_DB_ALIAS] = tests_own
        tests_own.settings_dict["USER"] = OWNER["USER"]


@contextmanager
def refused() -> Iterator[None]:
    with pytest.raises(ProgrammingError) as refusal:
        yield
    assert isinstance(refusal.value.__cause__, psycopg.errors.InsufficientPrivilege)


def current_role() -> str:
    ((role,),) = execute("SELECT current_user")
    return str(role)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE corpus_document DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE corpus_document NO FORCE ROW LEVEL SECURITY",
        "CREATE POLICY all_of_it ON corpus_document USING (true)",
        f"SET ROLE {OWNER['USER']}",
        f"SET SESSION AUTHORIZATION {OWNER['USER']}",
        f"GRANT {OWNER['USER']} TO {SERVING['USER']}",
        f"ALTER ROLE {SERVING['USER']} BYPASSRLS",
        "ALTER TABLE corpus_document ADD COLUMN x int",
        "DROP TABLE corpus_document",
        "TRUNCATE corpus_termcount",
        "CREATE TABLE mine (id int)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION accounts_event_stays() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RETURN OLD; END'",
        "DROP TRIGGER accounts_event_stays ON accounts_event",
        "UPDATE accounts_event SET action = 'x'",
        "DELETE FROM accounts_event",
        "DELETE FROM django_migrations",
        "UPDATE corpus_collectionaccess SET is_public = true",
        "DELETE FROM corpus_collectionaccess",
        "SELECT lo_create(0)",
        "SELECT lo_creat(0)",
        "SELECT lo_from_bytea(0, 'x')",
        "SET session_replication_role = replica",
        "COPY corpus_document TO PROGRAM 'cat'",
    ],
)
def test_what_could_get_around_a_policy_or_the_record_is_refused(
    serving: None, statement: str
) -> None:
    with refused():
        execute(statement)


def test_it_is_granted_the_use_of_every_table(serving: None) -> None:
    lacking = """
    SELECT relname FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
       AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
    """
    assert {name for (name,) in execute(lacking)} == {
        "accounts_event", "corpus_collectionaccess", "django_migrations",
    }  # fmt: skip


def test_what_was_granted_before_and_is_no_longer_is_taken_back(serving: None) -> None:
    with administering(NAME) as owner:
        owner.execute(f"GRANT ALL ON corpus_collectionaccess TO {SERVING['USER']}")
    call_command("migrate", verbosity=0)
    test_it_is_granted_the_use_of_every_table(None)


@pytest.fixture
def idas(serving: None) -> Iterator[Collection]:
    """A collection of Ida's with a document, and Eve, who acts and has one of her own."""
    users = get_user_model().objects
    ida, eve = (users.create_user(name) for name in ("ida", "eve"))
    with acting_as(principal_of(ida)):
        collection = create_collection("notes")
        collection.grants.create(user=ida, role="reader")
        ingest_text_of(collection)(LIGHTHOUSE)
        Tag.objects.create(collection=collection, name="of-ida")
    with acting_as(principal_of(eve)):
        own = create_collection("notes")
        Tag.objects.create(collection=own, name="of-eve")
    try:
        with acting_as(principal_of(eve)):
            yield collection
    finally:
        Collection.objects.filter(pk__in=[collection.pk, own.pk]).delete()
        users.filter(pk__in=[ida.pk, eve.pk]).delete()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO corpus_grant (collection_id, user_id, role, created_at)"
        " SELECT {ida}, id, 'owner', now() FROM auth_user WHERE username = 'eve'",
        "INSERT INTO corpus_document_tags (document_id, tag_id)"
        " SELECT {document}, id FROM corpus_tag WHERE name = 'of-eve'",
        "INSERT INTO corpus_document_tags (document_id, tag_id)"
        " SELECT gen_random_uuid(), id FROM corpus_tag WHERE name = 'of-eve'",
        "INSERT INTO corpus_chunktag (chunk_id, tag_id)"
        " SELECT {chunk}, id FROM corpus_tag WHERE name = 'of-eve'",
    ],
)
def test_acting_for_a_user_nothing_of_anothers_is_opened(idas: Collection, statement: str) -> None:
    with acting_as(SYSTEM):
        chunk = Chunk.objects.get(collection=idas)
    ids = {"ida": idas.pk, "document": f"'{chunk.document_id}'", "chunk": f"'{chunk.pk}'"}
    with refused():
        execute(statement.format(**ids))


def test_grants_of_another_are_neither_changed_nor_taken_away(idas: Collection) -> None:
    own = Collection.objects.get()
    assert own != idas
    assert Grant.objects.update(role="owner") == 0
    assert Grant.objects.update(collection=own) == 0
    assert Grant.objects.all().delete()[0] == 0


def test_owners_grant_and_publish_and_the_policies_know_it(idas: Collection) -> None:
    own = Collection.objects.get()
    Grant.objects.create(collection=own, user=idas.owner, role="writer")
    assert Grant.objects.filter(collection=own).update(role="reader") == 1
    assert Collection.objects.filter(pk=own.pk).update(is_public=True) == 1
    assert CollectionAccess.objects.get(pk=own.pk).is_public
    assert own.delete()[0]
    assert not CollectionAccess.objects.filter(pk=own.pk).exists()


def test_an_index_is_made_by_the_owner_whoever_asks(serving: None, settings: Any) -> None:
    hashing = "corpus.embedders.hashed_words.HashingEmbedder"
    settings.PKB_EMBEDDERS = {"hashing-32": {"BACKEND": hashing, "OPTIONS": {"dimension": 32}}}
    create_collection("notes", embedding_model="hashing-32")
    owner_of = "SELECT relowner::regrole::text FROM pg_class WHERE relname = %s"
    assert execute(owner_of, vector_index_name("hashing-32")) == [(OWNER["USER"],)]
    assert current_role() == SERVING["USER"]
    # A transaction is of one connection.
    with refused(), transaction.atomic():
        ensure_vector_index(model="hashing-33", dimension=33)
    Collection.objects.get(name="notes").delete()


def test_the_purge_lets_old_events_go_and_nothing_else_does(serving: None, settings: Any) -> None:
    record_event("ask")
    with refused():
        Event.objects.all().delete()
    assert purge_events() == 0
    settings.PKB_AUDIT_DAYS = 0
    assert purge_events() == Event.objects.count() + 1
    assert not Event.objects.exists()


OF_A_TEAM = parse_filter({"type": "eq", "key": "metadata.team", "value": "harbour"})
OVEN = SearchQuery("oven", search_type="raw", config="simple")


@embedded
@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (Chunk.objects.filter(lexemes=OVEN), "chunk_lexemes"),
        (Document.objects.matching_filter(OF_A_TEAM), "document_metadata"),
        (
            Document.objects.filter(metadata__contains={"mirror": {"source": "mail"}}),
            "document_metadata",
        ),
        (IdempotentRequest.objects.naming([UUID(int=1)]), "idempotent_document"),
        (
            Document.objects.alias(lower=Lower("title")).filter(lower__gt="m"),
            "document_by_title",
        ),
    ],
    ids=["words", "metadata", "an entry", "documents named", "titles"],
)
def test_an_index_is_asked_under_a_policy(serving: None, rows: QuerySet[Any], index: str) -> None:
    table = rows.model._meta.db_table
    with as_owner():
        execute(f"DROP POLICY IF EXISTS tried ON {table}")
        execute(f"CREATE POLICY tried ON {table} USING (current_setting('pkb.tried', true) <> '')")
        execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    execute("SET enable_seqscan = off")
    plan = rows.explain()
    assert re.search(rf"{index}\b.*\n +Index Cond:", plan), plan
    assert "pkb.tried" in plan


def test_who_is_the_owner_already_stays_who_it_is(serving: None) -> None:
    with as_owner():
        outer = connections[DEFAULT_DB_ALIAS]
        assert current_role() == OWNER["USER"]
        with as_owner():
            assert connections[DEFAULT_DB_ALIAS] is outer
    assert current_role() == SERVING["USER"]


def test_before_what_is_stored_was_granted_one_is_told_to_migrate(serving: None, api: Api) -> None:
    """As tables are that were made before there was this role."""
    with administering(NAME) as owner:
        for kind in ("TABLES", "SEQUENCES"):
            owner.execute(f"REVOKE ALL ON ALL {kind} IN SCHEMA public FROM {SERVING['USER']}")
    told = api.get("/documents")
    assert (told.status_code, told.json()["detail"]) == (
        503, "The database is not migrated; run manage.py migrate.",
    )  # fmt: skip
    with administering(NAME) as owner:
        owner.execute("ALTER TABLE django_migrations RENAME TO of_another_installation")
    assert "is empty: is PKB_DATA_DIR set?" in api.get("/documents").json()["detail"]
    with administering(NAME) as owner:
        owner.execute("ALTER TABLE of_another_installation RENAME TO django_migrations")
    call_command("migrate", verbosity=0)
    assert api.get("/documents").status_code == 200
    test_it_is_granted_the_use_of_every_table(None)
    with refused():
        execute("DELETE FROM accounts_event")


@pytest.fixture
def given(serving: None, settings: Any) -> Callable[[str], list[str]]:
    """Return by its code what is found of a role, as if the server were somebody's own."""

    def find(role: str) -> list[str]:
        plain = {**connections[DEFAULT_DB_ALIAS].settings_dict, "USER": role}
        connections[DEFAULT_DB_ALIAS] = DatabaseWrapper(plain, DEFAULT_DB_ALIAS)
        return [str(message.id) for message in run_checks(tags=[ROLE_CHECKS])]

    settings.PKB_POSTGRES_DIR = None
    return find


def test_where_others_log_in_no_role_serves_that_could_get_around_a_policy(
    given: Callable[[str], list[str]], settings: Any
) -> None:
    settings.PKB_AUTH_REQUIRED = True
    assert given(SERVING["USER"]) == []
    assert given(OWNER["USER"]) == ["pkb.E002"]
    settings.PKB_AUTH_REQUIRED = False
    assert given(OWNER["USER"]) == []


def test_a_role_with_settings_of_its_own_does_not_serve(
    given: Callable[[str], list[str]], database: str, settings: Any
) -> None:
    settings.PKB_AUTH_REQUIRED = True
    of_database = f"ALTER ROLE {SERVING['USER']} IN DATABASE {NAME}"
    with psycopg.connect(database, autocommit=True) as injected:
        injected.execute(f"{of_database} SET application_name = 'left behind'")
    assert given(SERVING["USER"]) == ["pkb.E004"]
    with psycopg.connect(database, autocommit=True) as injected:
        injected.execute(f"{of_database} RESET ALL")
    assert given(SERVING["USER"]) == []


@embedded
def test_the_embedded_server_takes_such_settings_away(serving: None) -> None:
    execute(f"ALTER ROLE {SERVING['USER']} IN DATABASE {NAME} SET application_name = 'left behind'")
    at = connection.settings_dict["HOST"], connection.settings_dict["PORT"]
    ensure_database(f"host={at[0]} port={at[1]} user={SUPERUSER}", NAME)
    assert not execute("SELECT FROM pg_db_role_setting WHERE setrole = current_user::regrole")


@embedded
def test_a_superuser_is_told_from_the_owner(
    given: Callable[[str], list[str]], settings: Any
) -> None:
    settings.PKB_AUTH_REQUIRED = True
    assert given(SUPERUSER) == ["pkb.E002"]
    settings.PKB_AUTH_REQUIRED = False
    assert given(SUPERUSER) == ["pkb.W002"]


@embedded
def test_what_a_server_does_not_know_to_be_leakproof_is_named(
    given: Callable[[str], list[str]],
) -> None:
    at = connection.settings_dict["HOST"], connection.settings_dict["PORT"]
    address = f"host={at[0]} port={at[1]} user={SUPERUSER} dbname={NAME}"
    unmark = "ALTER FUNCTION pg_catalog.lower(text) NOT LEAKPROOF"
    with psycopg.connect(address, autocommit=True) as superuser:
        superuser.execute(unmark)
    assert given(SERVING["USER"]) == ["pkb.W003"]
    (warning,) = run_checks(tags=[ROLE_CHECKS])
    named = str(warning.hint).removeprefix("Run as superuser, in this database: ")
    with psycopg.connect(address, autocommit=True) as superuser:
        superuser.execute(named.encode())
    assert given(SERVING["USER"]) == []
