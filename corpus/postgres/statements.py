"""Run statements in SQL."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor


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
