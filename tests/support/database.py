"""What stands in the database, whatever the models say of it; and who waits for whom there."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from time import sleep

from django.db import connection, transaction

from corpus.access.principal import bind_principal

POLL_S = 0.02
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_TABLES = """
SELECT quote_ident(table_name) FROM information_schema.tables
 WHERE table_schema = ANY(current_schemas(false)) AND table_type = 'BASE TABLE' ORDER BY 1
"""


def tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        return [name for (name,) in cursor.fetchall()]


def places_of(*words: str) -> set[str]:
    """Return ``table: word`` for each word that stands in any column of a table, in any case.

    A row is read as Postgres prints it: bytes as hexadecimal digits.
    """
    found = set()
    for table in tables():
        for word in words:
            forms = [f"%{word}%", f"%{word.encode().hex()}%"]
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT count(*) FROM {table} t WHERE t::text ILIKE ANY(%s)",  # noqa: S608
                    [forms],
                )
                if cursor.fetchone()[0]:
                    found.add(f"{table}: {word}")
    return found


def fingerprint() -> dict[str, str]:
    """Return a hash of all rows of each table."""
    hashes = {}
    for table in tables():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT t::text FROM {table} t ORDER BY 1")  # noqa: S608
            hashes[table] = sha256(repr(cursor.fetchall()).encode()).hexdigest()
    return hashes


@contextmanager
def held_up(act: Callable[[], object]) -> Iterator[None]:
    """Run ``act`` on another connection until it waits for what the block did; then commit."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            yield
            begun = pool.submit(_and_close(act))
            while not _someone_waits():
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


def _someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return bool(cursor.fetchone()[0])
