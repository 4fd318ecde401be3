"""Run statements in SQL: in one snapshot, under a lock, or as the tables' owner."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from typing import Any, cast

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg import IsolationLevel

# The tag of system checks about the privileges of the connecting role.
ROLE_CHECKS = "database_role"


def execute(statement: str, values: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Any]:
    """Run a statement; return its rows, none of one that returns no rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def fetch_prepared(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that takes longer to plan than to run.

    The text must be the same at each call. ``values`` are bound by the server, with the types
    that the statement gives them.
    """
    with connection.cursor() as cursor:
        # Creating the replaced cursor has set the principal on the server.
        raw = connection.connection
        cursor.cursor = cast("Any", ServerBindingCursor)(raw)
        # For this statement only: otherwise the driver stores a hundred statements, with document
        # texts in them, to count their use.
        raw.prepare_threshold = 0
        try:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
        finally:
            raw.prepare_threshold = None


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Run all statements in one snapshot, as of the first of them; in a transaction do nothing.

    Call no models in here: Postgres cannot remove deleted rows while the snapshot is open
    (docs/decisions/0045).
    """
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    opened: Any = connection.connection
    usual = opened.isolation_level
    # psycopg sends it with BEGIN, before any statement.
    opened.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with transaction.atomic():
            yield
    finally:
        if not opened.closed:
            opened.isolation_level = usual


def text_key(text: str) -> int:
    """Return the number that a text is locked by."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], signed=True)


@contextmanager
def try_session_lock(*key: int) -> Iterator[bool]:
    """Lock a key of one or two numbers; yield False if another session holds it.

    The lock ends with the session, at the latest with its process.
    """
    parameters = ", ".join(["%s"] * len(key))
    [(is_mine,)] = execute(f"SELECT pg_try_advisory_lock({parameters})", key)
    try:
        yield is_mine
    finally:
        # The pool keeps the session.
        if is_mine:
            execute(f"SELECT pg_advisory_unlock({parameters})", key)


def application_role() -> str:
    """Return the role that this process connects as by default."""
    return str(connections.settings[DEFAULT_DB_ALIAS]["USER"])


@contextmanager
def as_owner() -> Iterator[None]:
    """Make this thread's ``connection`` one of the tables' owner, ``OWNER`` in DATABASES.

    Do nothing if there is no ``OWNER``, if it is connected already, or in a transaction, which
    belongs to one connection.
    """
    serving = connections[DEFAULT_DB_ALIAS]
    owner = serving.settings_dict.get("OWNER") or serving.settings_dict
    if owner["USER"] == serving.settings_dict["USER"] or serving.in_atomic_block:
        yield
        return
    # The pool of the alias has connections of the application's role.
    options = {k: v for k, v in serving.settings_dict["OPTIONS"].items() if k != "pool"}
    settings = {**serving.settings_dict, **owner, "OPTIONS": options}
    owning = type(serving)(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = owning
    try:
        with closing(owning):
            yield
    finally:
        connections[DEFAULT_DB_ALIAS] = serving
