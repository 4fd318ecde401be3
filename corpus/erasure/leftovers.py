"""Search the whole database for leftovers of a deleted text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from corpus.erasure.shingles import ShingleHasher, split_hashes
from corpus.errors import Conflict, NotFound
from corpus.models import DocumentContent, Tombstone
from corpus.postgres import execute

# Rows in memory at a time; a text may have megabytes.
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
# Documents are searched first: their text is not a leftover.
_TEXT_OF_DOCUMENTS = ("corpus_documentcontent", "text")


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Leftovers of a deleted text.

    Attributes:
        rows: Number of rows of each ``table.column`` with shingles that no document contains.
        documents: Number of shingles that each current document contains.
        kept_count: Number of shingles in the tombstone.
    """

    rows: dict[str, int]
    documents: dict[UUID, int]
    kept_count: int


def find_leftovers(content_sha256: str) -> Leftovers:
    """Search every column that can contain text for a deleted text.

    Raises:
        NotFound: There is no tombstone of it.
        Conflict: Its tombstone was made with another key.
    """
    tombstone = Tombstone.objects.filter(content_sha256=content_sha256).first()
    if tombstone is None:
        raise NotFound(f"There is no tombstone of a text with the hash {content_sha256}.")
    hasher = ShingleHasher(settings.SECRET_KEY)
    if bytes(tombstone.seal) != hasher.digest(content_sha256):
        raise Conflict("The secret key has changed since the deletion, so remains cannot be found.")
    wanted = split_hashes(bytes(tombstone.hashes))
    texts_of_documents = DocumentContent.objects.order_by("pk").values_list("pk", "text")
    shingles = partial(hasher.shingles, width=tombstone.width)
    documents = {
        key: common
        for key, text in texts_of_documents.iterator(ROWS_AT_A_TIME)
        if (common := wanted.intersection(shingles(text)))
    }
    gone = wanted.difference(*documents.values())
    rows = {
        f"{table}.{column}": sum(
            not gone.isdisjoint(shingles(text)) for text in _read_values(table, column, kind)
        )
        for table, column, kind in execute(_COLUMNS)
        if (table, column) != _TEXT_OF_DOCUMENTS
    }
    return Leftovers(
        rows={column: count for column, count in rows.items() if count},
        documents={key: len(common) for key, common in documents.items()},
        kept_count=len(wanted),
    )


def _read_values(table: str, column: str, kind: str) -> Iterator[str]:
    quote = connection.ops.quote_name
    name = quote(column)
    value = {"bytea": name, "ARRAY": f"to_jsonb({name})::text"}.get(kind, f"{name}::text")
    query = f"SELECT {value} FROM {quote(table)} WHERE octet_length({value}) > 0"  # noqa: S608
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            for (cell,) in rows:
                if kind == "bytea":
                    yield bytes(cell).decode(errors="replace")
                elif kind in {"json", "jsonb", "ARRAY"}:
                    yield "\n".join(_strings(json.loads(cell)))
                else:
                    yield str(cell)


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, also keys."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value
