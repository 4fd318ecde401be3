"""Searches read a standby that has all that was acknowledged, and the primary where it has not."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import InternalError, OperationalError, connection, connections
from pydantic import SecretStr

from corpus.access.principal import ANONYMOUS, Principal, acting_as
from corpus.catalogue import delete_document
from corpus.models import Collection, Document
from corpus.postgres import standby as standby_module
from corpus.postgres.snapshot import count_reads, read_in_snapshot
from corpus.postgres.standby import REPLICA, Reason, check_standby, pause_reason, read_position
from pkb.databases import replica_settings
from pkb.postgres import APPLICATION, OWNER
from pkb.postgres.external.base import DatabaseWrapper
from pkb.postgres.server import SUPERUSER, EmbeddedPostgres
from pkb.status.service_status import read_state
from pkb.status.view import ServiceStatus
from qa.search.hybrid import HybridRetriever
from qa.types import Query
from tests.faults.clusters import ask, cluster_in, reachable_directory
from tests.support.database import execute
from tests.support.documents import LIGHTHOUSE, ingest_text_of
from tests.support.doubles import embed_by_hashing, hash_collections
from tests.support.processes import template
from tests.support.standby import DATABASE, at, programs_of, standby_of, url_of
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(configured.PKB_POSTGRES_DIR is None, reason="no programs of Postgres"),
]


@pytest.fixture(scope="module")
def servers(
    django_db_setup: None, django_db_blocker: Any
) -> Iterator[tuple[EmbeddedPostgres, EmbeddedPostgres]]:
    """A primary with the tables, and a standby of it that streams."""
    with (
        django_db_blocker.unblock(),
        reachable_directory() as folder,
        cluster_in(folder / "primary") as primary,
    ):
        primary.start()
        primary.ensure_database(DATABASE)
        dump = str(primary.state_dir / "log" / "dump.sql")
        tests = connection.get_connection_params()
        here = ("-U", SUPERUSER, "-h", str(tests["host"]), "-p", str(tests["port"]))
        migrated = template(os.environ.get("EMBEDDING_MODEL", ""))
        programs = programs_of(primary)
        programs.check("pg_dump", *here, "-d", migrated, "-f", dump)
        programs.check("psql", *at(primary), "-q", "-d", DATABASE, "-f", dump)
        with standby_of(primary, folder / "standby") as standby:
            yield primary, standby


@pytest.fixture
def standby(
    servers: tuple[EmbeddedPostgres, EmbeddedPostgres], settings: Any, django_db_blocker: Any
) -> Iterator[EmbeddedPostgres]:
    """The standby that searches of this thread read, with one text."""
    embed_by_hashing(settings)
    settings.PKB_REPLICA_WAIT_MS = 20_000
    standby_module._Pause.ends = 0.0
    with django_db_blocker.unblock(), databases_of(*servers):
        hash_collections()
        ingest_text_of(Collection.objects.get_named("default"))(LIGHTHOUSE)
        yield servers[1]
        Document.objects.all().delete()
    standby_module._Pause.ends = 0.0


@contextmanager
def databases_of(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> Iterator[None]:
    before = connections["default"]
    options = {"options": "-c jit=off"}
    own = {**before.settings_dict, **primary.address, "NAME": DATABASE, "USER": APPLICATION}
    default = {**own, "OWNER": {"USER": OWNER}, "OPTIONS": options}
    given = {
        **own,
        **replica_settings({"OPTIONS": {**options, "pool": {}}}, SecretStr(url_of(standby))),
    }
    # Who connects by itself waits for no turn, and hears at once that nobody is there.
    given["OPTIONS"].pop("pool")
    given.pop("OWNER", None)
    connections["default"] = DatabaseWrapper(default, "default")
    connections.settings[REPLICA] = given
    try:
        yield
    finally:
        connections["default"].close()
        connections[REPLICA].close()
        del connections[REPLICA], connections.settings[REPLICA]
        connections["default"] = before


def find() -> tuple[int, bool]:
    """Return how many passages a search finds, and whether it read the standby."""
    statements: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        statements.append(sql)
        return execute(sql, *rest)

    with connections[REPLICA].execute_wrapper(note):
        query = Query("Who built the lighthouse?", collection="default")
        retrieved = HybridRetriever(alpha=0.5, candidate_count=10).retrieve(query, limit=3)
    found = len(retrieved.passages)
    return found, any("corpus_" in sql for sql in statements)


def standby_shown() -> dict[str, Any]:
    """Return what GET /status tells of the standby."""
    return dict(ServiceStatus(read_state()).data["standby"])


def is_on_standby() -> bool:
    return execute("SELECT pg_is_in_recovery()") == [(True,)]


def test_a_search_reads_the_standby_and_what_is_acknowledged(standby: EmbeddedPostgres) -> None:
    assert find() == (1, True)
    assert read_in_snapshot(is_on_standby)
    # Only meanwhile, and only outside of a transaction that may have written.
    assert not is_on_standby()
    delete_document(Document.objects.get().pk)
    assert find() == (0, True)
    shown = standby_shown()
    assert (shown["is_used"], shown["reason"]) == (True, None)
    assert (shown["behind_bytes"], shown["behind_s"]) == (0, 0)
    assert shown["read_count"] >= 3


@pytest.mark.parametrize("wait_ms", [0, 5])
def test_deleted_document_does_not_answer_though_the_standby_has_it(
    standby: EmbeddedPostgres, settings: Any, wait_ms: int
) -> None:
    before = count_reads()
    assert find() == (1, True)
    settings.PKB_REPLICA_WAIT_MS = wait_ms
    ask(standby, "SELECT pg_wal_replay_pause()", user=SUPERUSER)
    wait_until(
        lambda: ask(standby, "SELECT pg_get_wal_replay_pause_state()", user=SUPERUSER) == "paused"
    )
    try:
        delete_document(Document.objects.get().pk)
        there = ask(standby, "SELECT count(*) FROM corpus_chunk", DATABASE, user=SUPERUSER)
        assert there == 1
        assert find() == (0, False)
        shown = standby_shown()
        assert (shown["is_used"], shown["reason"]) == (False, "behind")
        assert shown["behind_bytes"] > 0
        assert shown["behind_s"] >= 0
    finally:
        ask(standby, "SELECT pg_wal_replay_resume()", user=SUPERUSER)
    now = count_reads()
    assert [now[why] - before.get(why, 0) for why in (None, Reason.BEHIND)] == [1, 1]


def test_the_primary_answers_where_the_standby_is_down(standby: EmbeddedPostgres) -> None:
    standby.stop()
    try:
        assert find() == (1, False)
        assert pause_reason() is Reason.UNREACHABLE
        shown = standby_shown()
        assert (shown["reason"], shown["behind_bytes"]) == ("unreachable", None)
    finally:
        standby.start()
    # It is tried again after a while.
    assert find() == (1, False)
    standby_module._Pause.ends = 0.0
    assert find() == (1, True)


def test_a_server_that_is_no_standby_is_not_read(
    servers: tuple[EmbeddedPostgres, EmbeddedPostgres], settings: Any, django_db_blocker: Any
) -> None:
    settings.PKB_REPLICA_WAIT_MS = 0
    primary, _ = servers
    with django_db_blocker.unblock(), databases_of(primary, primary):
        assert check_standby(read_position()).reason is Reason.NOT_A_STANDBY


def test_rows_are_shown_to_their_own_on_the_standby_too(standby: EmbeddedPostgres) -> None:
    def count() -> tuple[int, bool]:
        return Document.objects.count(), is_on_standby()

    assert read_in_snapshot(count) == (1, True)
    for stranger in (ANONYMOUS, Principal(user_id=10**9)):
        with acting_as(stranger):
            assert read_in_snapshot(count) == (0, True)


def test_it_is_not_read_by_a_role_for_which_no_policy_holds(
    standby: EmbeddedPostgres, settings: Any
) -> None:
    settings.PKB_REPLICA_WAIT_MS = 0
    connections[REPLICA].settings_dict["USER"] = SUPERUSER
    connections[REPLICA].close()
    try:
        assert not read_in_snapshot(is_on_standby)
        assert pause_reason() is Reason.UNSAFE_ROLE
        assert find() == (1, False)
    finally:
        connections[REPLICA].settings_dict["USER"] = APPLICATION


def test_a_standby_of_what_the_primary_was_before_a_restore_is_not_read(
    standby: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = standby_module._NEEDED
    restored = needed.replace("left(pg_walfile_name", "'00000009' || left(pg_walfile_name")
    monkeypatch.setattr(standby_module, "_NEEDED", restored)
    assert find() == (1, False)
    assert pause_reason() is Reason.OTHER_TIMELINE


def test_nothing_is_written_to_the_standby(standby: EmbeddedPostgres) -> None:
    with connections[REPLICA].cursor() as cursor:
        cursor.execute("SHOW default_transaction_read_only")
        assert cursor.fetchone() == ("on",)
        with pytest.raises(InternalError, match="read-only"):
            cursor.execute("DELETE FROM corpus_document")
    # Rows that came from it are the primary's.
    document = read_in_snapshot(Document.objects.get)
    document.title = "Coast"
    document.save(update_fields=["title"])
    assert Document.objects.get().title == "Coast"


def test_a_standby_is_set_up_like_its_primary_but_read_only() -> None:
    primary = {"OPTIONS": {"options": "-c jit=off", "pool": {"max_size": 7, "timeout": 10}}}
    made = replica_settings(
        primary, SecretStr("postgresql://ida@two.example/notes?sslmode=require")
    )
    options = made["OPTIONS"]
    assert (made["ENGINE"], made["HOST"]) == ("pkb.postgres.external", "two.example")
    assert options["options"] == "-c jit=off -c default_transaction_read_only=on"
    assert (options["sslmode"], options["pool"]["max_size"]) == ("require", 7)
    assert options["pool"]["timeout"] < 1


def test_statement_too_long_on_the_standby_is_not_tried_on_the_primary(
    standby: EmbeddedPostgres,
) -> None:
    asked: list[bool] = []

    def take_long() -> None:
        asked.append(is_on_standby())
        execute("SET LOCAL statement_timeout = '20ms'")
        execute("SELECT pg_sleep(5)")

    with pytest.raises(OperationalError) as told:
        read_in_snapshot(take_long)
    assert asked == [True]
    # The next search need not take as long: it reads the primary.
    assert pause_reason() is Reason.FAILED
    with pytest.raises(OperationalError) as of_primary:
        read_in_snapshot(take_long)
    assert asked == [True, False]
    assert str(told.value) == str(of_primary.value)
    assert told.value.__cause__.__class__ is of_primary.value.__cause__.__class__


def test_what_a_lost_connection_cut_short_is_read_on_the_primary(
    standby: EmbeddedPostgres,
) -> None:
    asked: list[bool] = []

    def be_cut_off_there() -> str:
        asked.append(is_on_standby())
        if asked[-1]:
            execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return "read"

    assert read_in_snapshot(be_cut_off_there) == "read"
    assert asked == [True, False]
    assert pause_reason() is Reason.UNREACHABLE


def test_a_primary_that_does_not_tell_where_it_is_is_read_itself(
    standby: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby_module, "_NEEDED", "SELECT pg_not_there()")
    assert find() == (1, False)
    # It is no fault of the standby.
    assert pause_reason() is None
    shown = standby_shown()
    assert (shown["is_used"], shown["behind_bytes"]) == (False, None)
