"""Look through the whole database for what is left of a deleted text."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from corpus.erasure.shingles import split_hashes
from corpus.erasure.tombstones import get_hasher
from corpus.errors import Conflict, NotFound
from corpus.models import Document, Tombstone

# Rows that are in memory at a time: a text may have megabytes.
ROWS_AT_A_TIME = 20

_COLUMNS = """
SELECT c.table_name, c.column_name, c.data_type
  FROM information_schema.columns c
  JOIN information_schema.tables t USING (table_schema, table_name)
 WHERE t.table_type = 'BASE TABLE' AND c.table_schema = ANY(current_schemas(false))
   AND (c.data_type IN ('text', 'character varying', 'character', 'json', 'jsonb', 'bytea', 'xml',
                        'ARRAY') OR c.udt_name IN ('citext', 'hstore'))
 ORDER BY c.table_name, c.ordinal_position
"""
# Documents are looked through first: what they hold is not left over.
_TEXT_OF_DOCUMENTS = ("corpus_document", "raw_text")


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Where words of a deleted text stand.

    Attributes:
        rows: How many rows of each ``table.column`` hold shingles that no document holds.
        documents: How many of the kept shingles documents of today hold.
        kept_count: Shingles that were kept of the text.
    """

    rows: dict[str, int]
    documents: dict[UUID, int]
    kept_count: int


def find_leftovers(content_sha256: str) -> Leftovers:
    """Look for a deleted text in every column that can hold text.

    Reads everything, a few rows at a time.

    Raises:
        NotFound: No tombstone of it is kept.
        Conflict: Its tombstone was made by another key.
    """
    tombstone = Tombstone.objects.filter(content_sha256=content_sha256).first()
    if tombstone is None:
        raise NotFound(f"There is no tombstone of a text with the hash {content_sha256}.")
    hasher = get_hasher()
    if bytes(tombstone.seal) != hasher.digest(content_sha256):
        raise Conflict("The secret key has changed since the deletion, so remains cannot be found.")
    wanted = split_hashes(bytes(tombstone.hashes))
    shingles = partial(hasher.shingles, width=tombstone.width)
    documents = dict(_find_in_documents(wanted, shingles))
    left = wanted.difference(*documents.values())
    rows = {
        place: sum(any(shingle in left for shingle in shingles(text)) for text in texts)
        for place, texts in _read_columns()
    }
    return Leftovers(
        rows={place: count for place, count in rows.items() if count},
        documents={key: len(found) for key, found in documents.items()},
        kept_count=len(wanted),
    )


def _find_in_documents(
    wanted: frozenset[bytes], shingles: Callable[[str], Iterator[bytes]]
) -> Iterator[tuple[UUID, set[bytes]]]:
    texts = Document.objects.stored().order_by("pk").values_list("pk", "raw_text")
    for key, text in texts.iterator(ROWS_AT_A_TIME):
        found = {shingle for shingle in shingles(text) if shingle in wanted}
        if found:
            yield key, found


def _read_columns() -> Iterator[tuple[str, Iterator[str]]]:
    """Yield each column that can hold text, by name, and its values row by row."""
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        columns = cursor.fetchall()
    for table, column, kind in columns:
        if (table, column) != _TEXT_OF_DOCUMENTS:
            yield f"{table}.{column}", _read_values(table, column, kind)


def _read_values(table: str, column: str, kind: str) -> Iterator[str]:
    quote = connection.ops.quote_name
    name = quote(column)
    value = {"bytea": name, "ARRAY": f"to_jsonb({name})::text"}.get(kind, f"{name}::text")
    query = f"SELECT {value} FROM {quote(table)} WHERE octet_length({value}) > 0"  # noqa: S608
    read = _READERS.get(kind, str)
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield from (read(row[0]) for row in rows)


def _read_json(value: str) -> str:
    return "\n".join(_strings(json.loads(value)))


def _strings(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, names of members too."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value


def _read_bytes(value: Any) -> str:
    return bytes(value).decode(errors="replace")


_READERS: dict[str, Callable[[Any], str]] = {
    "json": _read_json, "jsonb": _read_json, "ARRAY": _read_json, "bytea": _read_bytes,
}  # fmt: skip
