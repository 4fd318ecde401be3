"""Check an invariant by a SQL statement that finds its violations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

# Rows that are read of a statement at a time: everything may be broken.
_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant: which one, and the key of what breaks it."""

    invariant: str
    key: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.key}"


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows that are read once for several invariants.

    Attributes:
        key: The column that says which row it is.
        rows: FROM and WHERE.
        broken: By invariant, when a row breaks it.
    """

    key: str
    rows: str
    broken: Mapping[str, str]

    def find(self, **values: Any) -> Iterator[Violation]:
        conditions = self.broken.values()
        told = ", ".join(f"({each})" for each in conditions)
        any_of = " OR ".join(f"({each})" for each in conditions)
        query = f"SELECT {self.key}::text, {told} {self.rows} AND ({any_of})"
        for key, *is_broken in _rows(query, values):
            for invariant, is_so in zip(self.broken, is_broken, strict=True):
                if is_so:
                    yield Violation(invariant, key)


def find_in_tables(
    queries: Mapping[str, str], *, collection_id: int | None = None
) -> Iterator[Violation]:
    """Yield what breaks invariants that one statement each tells.

    Args:
        queries: By invariant. A row of one is a key, and the id of the collection that it is of, or
            NULL.
        collection_id: Only what is of this one.
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
