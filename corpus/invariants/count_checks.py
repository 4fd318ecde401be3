"""Compare the maintained counts of documents, tags and words with the rows."""

import secrets
from collections.abc import Iterator
from typing import Any

from corpus.invariants.violations import Violation
from corpus.postgres import execute

_COUNTED = """
  SELECT collection_id, tag_id, sum(document_count) AS documents, sum(chunk_count) AS chunks
    FROM corpus_documentcount GROUP BY collection_id, tag_id
"""
_ACTUAL = """
  SELECT collection_id, 0::bigint AS tag_id, count(*) AS documents, 0 AS chunks
    FROM corpus_document WHERE content_sha256 <> '' GROUP BY collection_id
   UNION ALL
  SELECT t.collection_id, t.id, coalesce(d.documents, 0), coalesce(c.chunks, 0) FROM corpus_tag t
    LEFT JOIN (SELECT tag_id, count(*) AS documents FROM corpus_document_tags GROUP BY tag_id) d
           ON d.tag_id = t.id
    LEFT JOIN (SELECT tag_id, count(*) AS chunks FROM corpus_chunktag GROUP BY tag_id) c
           ON c.tag_id = t.id
"""
# Actual minus stored counts.
DOCUMENT_DIFFERENCES = f"""
SELECT collection_id, tag_id, coalesce(actual.documents, 0) - coalesce(counted.documents, 0),
       coalesce(actual.chunks, 0) - coalesce(counted.chunks, 0)
  FROM ({_COUNTED}) counted FULL JOIN ({_ACTUAL}) actual USING (collection_id, tag_id)
 WHERE coalesce(actual.documents, 0) <> coalesce(counted.documents, 0)
    OR coalesce(actual.chunks, 0) <> coalesce(counted.chunks, 0)
"""  # noqa: S608
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
WORD_DIFFERENCES = """
WITH counted AS (
  SELECT lexeme, sum(chunk_count) AS chunks, sum(token_count) AS tokens
    FROM corpus_termcount WHERE collection_id = %(collection)s GROUP BY lexeme
), actual AS (
  SELECT lexeme, count(*) AS chunks, 0 AS tokens FROM (
    SELECT unnest(tsvector_to_array(lexemes)) AS lexeme FROM corpus_chunk
     WHERE collection_id = %(collection)s) of_chunk GROUP BY lexeme
  UNION ALL SELECT '', count(*), sum(token_count) FROM corpus_chunk
   WHERE collection_id = %(collection)s HAVING count(*) > 0
)
SELECT lexeme, coalesce(actual.chunks, 0) - coalesce(counted.chunks, 0) AS chunks,
       coalesce(actual.tokens, 0) - coalesce(counted.tokens, 0) AS tokens
  FROM counted FULL JOIN actual USING (lexeme)
 WHERE coalesce(actual.chunks, 0) <> coalesce(counted.chunks, 0)
    OR coalesce(actual.tokens, 0) <> coalesce(counted.tokens, 0)
"""
UNUSED_WORDS = """
SELECT lexeme FROM corpus_termcount WHERE collection_id = %(collection)s AND lexeme <> ''
 GROUP BY lexeme HAVING sum(chunk_count) = 0
"""


def find_in_words(collection_id: int) -> Iterator[Violation]:
    """Yield violations in the counts of a collection's words; each statement is a snapshot."""
    values: dict[str, Any] = {"collection": collection_id, "seed": secrets.randbits(63)}
    if execute(_AGREE, values) != [(True, True)]:
        for lexeme, _, _ in execute(WORD_DIFFERENCES, values):
            yield Violation("the count of a word is wrong", f"{collection_id} {lexeme}")
    for (lexeme,) in execute(UNUSED_WORDS, values):
        yield Violation("a word of no chunk is kept", f"{collection_id} {lexeme}")
