"""Find violations of invariants by SQL statements."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

# Rows that are fetched at a time.
_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated invariant and the key of the row that violates it."""

    invariant: str
    key: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.key}"


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of rows that checks several invariants at once.

    Attributes:
        key: The column that identifies the row.
        rows: FROM and WHERE clauses.
        broken: The SQL condition of a violation, by invariant.
    """

    key: str
    rows: str
    broken: Mapping[str, str]

    def find(self, **values: Any) -> Iterator[Violation]:
        conditions = self.broken.values()
        columns = ", ".join(f"({each})" for each in conditions)
        any_of = " OR ".join(f"({each})" for each in conditions)
        query = f"SELECT {self.key}::text, {columns} {self.rows} AND ({any_of})"
        for key, *is_broken in _rows(query, values):
            for invariant, is_so in zip(self.broken, is_broken, strict=True):
                if is_so:
                    yield Violation(invariant, key)


def find_in_tables(
    queries: Mapping[str, str], *, collection_id: int | None = None
) -> Iterator[Violation]:
    """Yield the violations that SQL statements find.

    Args:
        queries: Statements by invariant; each row is a key and the id of its collection, or NULL.
        collection_id: Check only this collection.
    """
    for invariant, query in queries.items():
        wrapped = f"SELECT key::text FROM ({query}) found(key, collection_id)"  # noqa: S608
        if collection_id is not None:
            wrapped += " WHERE collection_id::bigint = %(collection)s"
        for (key,) in _rows(wrapped, {"collection": collection_id}):
            yield Violation(invariant, key)


def _rows(query: str, values: Mapping[str, Any]) -> Iterator[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        while rows := cursor.fetchmany(_ROWS):
            yield from rows
