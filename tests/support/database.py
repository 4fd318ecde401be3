"""What stands in the database, whatever the models say of it; and who waits for whom there."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from time import sleep
from typing import Any

from django.db import connection, transaction

from corpus.access.principal import bind_principal

POLL_S = 0.02
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_TABLES = """
SELECT quote_ident(table_name) FROM information_schema.tables
 WHERE table_schema = ANY(current_schemas(false)) AND table_type = 'BASE TABLE' ORDER BY 1
"""


def execute(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement on the connection of the test; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return [] if cursor.description is None else list(cursor.fetchall())


def tables() -> list[str]:
    return [name for (name,) in execute(_TABLES)]


def places_of(*words: str) -> set[str]:
    """Return ``table: word`` for each word that stands in any column of a table, in any case.

    A row is read as Postgres prints it: bytes as hexadecimal digits.
    """
    found = set()
    for table in tables():
        for word in words:
            forms = [f"%{word}%", f"%{word.encode().hex()}%"]
            if execute(f"SELECT FROM {table} t WHERE t::text ILIKE ANY(%s) LIMIT 1", forms):
                found.add(f"{table}: {word}")
    return found


def fingerprint() -> dict[str, str]:
    """Return a hash of all rows of each table."""
    rows = {name: execute(f"SELECT t::text FROM {name} t ORDER BY 1") for name in tables()}  # noqa: S608
    return {name: sha256(repr(found).encode()).hexdigest() for name, found in rows.items()}


@contextmanager
def held_up(act: Callable[[], object]) -> Iterator[None]:
    """Run ``act`` on another connection until it waits for what the block did; then commit."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            yield
            begun = pool.submit(_and_close(act))
            while execute(_WAITING) == [(0,)]:
                assert not begun.done()
                sleep(POLL_S)
        begun.result()


def on_another_connection(act: Callable[[], object]) -> object:
    """Return what ``act`` returns, which commits what it does before this test ends."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_and_close(act)).result(timeout=30)


def _and_close(act: Callable[[], object]) -> Callable[[], object]:
    """Return what acts for the same principal, and leaves its thread no connection."""

    def acting() -> object:
        try:
            return act()
        finally:
            connection.close()

    return bind_principal(acting)
