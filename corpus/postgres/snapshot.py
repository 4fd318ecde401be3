"""Statements that read one state of the database, though others write between them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from psycopg import IsolationLevel


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Let all statements read what was committed when the first of them began.

    Within a transaction they see what that sees. Models are not asked in here: what was deleted
    meanwhile is kept by Postgres for as long as this goes on.
    """
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    opened: Any = connection.connection
    usual = opened.isolation_level
    # It is said with BEGIN: no statement can come before it.
    opened.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with transaction.atomic():
            yield
    finally:
        if not opened.closed:
            opened.isolation_level = usual
