"""In how many chunks of a collection each word is: what BM25 weighs words by.

Triggers on the chunks append what a statement added or took away, so that every way of
writing is counted and no writer waits for another; a reader adds the rows up.
"""

from dataclasses import dataclass

from django.db import connection

from corpus.languages import character_ngrams

# The row of this lexeme counts the chunks themselves, and their tokens.
TOTAL = ""

_FREQUENCIES = """
WITH words AS (
  SELECT lexeme, cardinality(positions) AS times
    FROM unnest(to_tsvector(%(language)s::regconfig, %(text)s) || to_tsvector('simple', %(ngrams)s))
  UNION SELECT '', 1
)
SELECT t.lexeme, sum(t.chunk_count)::bigint, sum(t.token_count)::bigint, w.times
  FROM corpus_termcount t JOIN words w USING (lexeme)
 WHERE t.collection_id = %(collection)s
 GROUP BY t.lexeme, w.times HAVING sum(t.chunk_count) > 0
"""

_COMPACT = """
WITH appended AS (
  DELETE FROM corpus_termcount t USING (
    SELECT collection_id, lexeme FROM corpus_termcount
     GROUP BY collection_id, lexeme HAVING count(*) > 1) twice
   WHERE t.collection_id = twice.collection_id AND t.lexeme = twice.lexeme
  RETURNING t.*
)
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT collection_id, lexeme, sum(chunk_count), sum(token_count) FROM appended
 GROUP BY collection_id, lexeme HAVING sum(chunk_count) <> 0
"""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common a text's words are in a collection.

    Attributes:
        by_lexeme: Chunks that hold the word, for each word that is in any.
        times: How often the text has each of these words.
        mean_tokens: Mean length of a chunk, in tokens.
    """

    by_lexeme: dict[str, int]
    times: dict[str, int]
    chunk_count: int
    mean_tokens: float


def read_frequencies(text: str, *, collection_id: int, language: str) -> Frequencies:
    """Look up the words of ``text``."""
    values: dict[str, str | int] = {
        "text": text,
        "ngrams": character_ngrams(text),
        "language": language,
        "collection": collection_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FREQUENCIES, values)
        rows = {lexeme: numbers for lexeme, *numbers in cursor.fetchall()}
    chunk_count, token_count, _ = rows.pop(TOTAL, (0, 0, 1))
    return Frequencies(
        by_lexeme={lexeme: chunks for lexeme, (chunks, _, _) in rows.items()},
        times={lexeme: times for lexeme, (_, _, times) in rows.items()},
        chunk_count=chunk_count,
        mean_tokens=token_count / max(chunk_count, 1),
    )


def compact_term_counts() -> int:
    """Add up the rows of each word; what is appended meanwhile stays beside the sum.

    Two at a time do no harm: a row that one has deleted is not seen by the other.

    Returns:
        The rows that were written.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COMPACT)
        return int(cursor.rowcount)
