"""Advisory locks of a database session: they end with its process."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from django.db import connection


def text_key(text: str) -> int:
    """Return the number that a text is locked by."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], signed=True)


@contextmanager
def try_session_lock(*key: int) -> Iterator[bool]:
    """Lock a key of one or two numbers; yield False if another session holds it."""
    parameters = ", ".join(["%s"] * len(key))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock({parameters})", key)
        is_mine = bool(cursor.fetchone()[0])
    try:
        yield is_mine
    finally:
        # The pool keeps the session.
        if is_mine:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT pg_advisory_unlock({parameters})", key)
