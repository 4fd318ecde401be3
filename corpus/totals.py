"""How much is stored, in one look: monitors ask every few seconds."""

from typing import NamedTuple

from django.db import connection

# Chunks are not counted but read from the kept word counts, whose empty lexeme is every chunk's.
_TOTALS = """
SELECT (SELECT count(*) FROM corpus_document WHERE content_sha256 <> ''),
       (SELECT coalesce(sum(t.chunk_count), 0)::bigint
          FROM corpus_collection c
          JOIN corpus_termcount t ON t.collection_id = c.id AND t.lexeme = '')
"""


class Totals(NamedTuple):
    """Counts over all collections."""

    document_count: int
    chunk_count: int


def count_stored() -> Totals:
    """Count the documents that have a text, and the chunks."""
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS)
        return Totals(*cursor.fetchone())
