"""Compare the counts of words with the words of all chunks."""

import secrets
from collections.abc import Iterator
from typing import Any

from django.db import connection

from corpus.invariants.document_checks import Violation

# Compare the sums of the words' hashes, with a random seed: equal sums mean equal counts, except in
# one case of 2**64. This takes a third of the time of counting each word.
_AGREE = """
SELECT (SELECT sum(hashtextextended(lexeme, %(seed)s)) FROM (
          SELECT unnest(tsvector_to_array(lexemes)) AS lexeme FROM corpus_chunk
           WHERE collection_id = %(collection)s) of_chunk)
       IS NOT DISTINCT FROM
       (SELECT nullif(sum(hashtextextended(lexeme, %(seed)s)::numeric * chunk_count), 0)
          FROM corpus_termcount WHERE collection_id = %(collection)s AND lexeme <> ''),
       (SELECT (count(*)::numeric, coalesce(sum(token_count), 0)::numeric) FROM corpus_chunk
         WHERE collection_id = %(collection)s)
       = (SELECT (coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0))
            FROM corpus_termcount WHERE collection_id = %(collection)s AND lexeme = '')
"""
# Actual minus stored counts, by word.
DIFFERENCES = """
WITH counted AS (
  SELECT lexeme, sum(chunk_count) AS chunks, sum(token_count) AS tokens
    FROM corpus_termcount WHERE collection_id = %(collection)s GROUP BY lexeme
), held AS (
  SELECT lexeme, count(*) AS chunks, 0 AS tokens FROM (
    SELECT unnest(tsvector_to_array(lexemes)) AS lexeme FROM corpus_chunk
     WHERE collection_id = %(collection)s) of_chunk GROUP BY lexeme
  UNION ALL SELECT '', count(*), sum(token_count) FROM corpus_chunk
   WHERE collection_id = %(collection)s HAVING count(*) > 0
)
SELECT lexeme, coalesce(held.chunks, 0) - coalesce(counted.chunks, 0) AS chunks,
       coalesce(held.tokens, 0) - coalesce(counted.tokens, 0) AS tokens
  FROM counted FULL JOIN held USING (lexeme)
 WHERE coalesce(held.chunks, 0) <> coalesce(counted.chunks, 0)
    OR coalesce(held.tokens, 0) <> coalesce(counted.tokens, 0)
"""
UNUSED = """
SELECT lexeme FROM corpus_termcount WHERE collection_id = %(collection)s AND lexeme <> ''
 GROUP BY lexeme HAVING sum(chunk_count) = 0
"""


def find_in_words(collection_id: int) -> Iterator[Violation]:
    """Yield violations in the counts of a collection's words; each statement is a snapshot."""
    values: dict[str, Any] = {"collection": collection_id, "seed": secrets.randbits(63)}
    with connection.cursor() as cursor:
        cursor.execute(_AGREE, values)
        if cursor.fetchone() != (True, True):
            cursor.execute(DIFFERENCES, values)
            for lexeme, _, _ in cursor.fetchall():
                yield Violation("the count of a word is wrong", f"{collection_id} {lexeme}")
        cursor.execute(UNUSED, values)
        for (lexeme,) in cursor.fetchall():
            yield Violation("a word of no chunk is kept", f"{collection_id} {lexeme}")
