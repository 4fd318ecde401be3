"""Short statements that every document asks: planned once a connection, not each time."""

from collections.abc import Sequence
from typing import Any, cast

from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor


def fetch_prepared(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that is short to run and long to plan.

    Its text is the same at each call: what changes are ``values``, which go to the server beside
    it. There each has the type that the statement gives it.
    """
    with connection.cursor() as cursor:
        # To make the one that is replaced has told the server who acts.
        raw = connection.connection
        cursor.cursor = cast("Any", ServerBindingCursor)(raw)
        # For this statement alone: the driver would keep the text of a hundred others, with the
        # documents in it, to count how often each is asked.
        raw.prepare_threshold = 0
        try:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
        finally:
            raw.prepare_threshold = None
