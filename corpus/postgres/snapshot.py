"""Read several statements in one snapshot (docs/decisions/0045)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from psycopg import IsolationLevel


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Run all statements in one snapshot, as of the first of them; in a transaction do nothing.

    Call no models in here: Postgres cannot remove deleted rows while the snapshot is open.
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
