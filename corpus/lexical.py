"""BM25 over Postgres' text search, in two stages.

The rarest words of a query select candidates, and all its words score them. Selecting by every
word would scan the collection for frequent words; requiring all words finds nothing for a question
in natural language. If all words are frequent, the rarest combinations select.

Triggers count the chunks that contain a word: they append what a statement added or deleted, so
that every write is counted and writers do not wait for each other. Readers add the rows up.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
"""

import math
import operator
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate, combinations, pairwise
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection, transaction
from django.db.models import BooleanField, FloatField, Func, Q

from corpus.postgres import execute

ENGLISH = "english"
# Configurations that every PostgreSQL has; "simple" does not stem.
LANGUAGES = (
    "simple", "arabic", "danish", "dutch", ENGLISH, "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "portuguese", "romanian",
    "russian", "serbian", "spanish", "swedish", "tamil", "turkish",
)  # fmt: skip

# Han, kana, bopomofo: a word has one to three characters.
_EAST_ASIAN = (
    r"\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Thai, Lao, Myanmar, Khmer: letters with vowel and tone signs, a word is longer.
_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Characters of scripts that put no spaces between words.
SPACELESS = _EAST_ASIAN + _SOUTH_EAST_ASIAN
_RUN = re.compile(f"([{_EAST_ASIAN}]+)|([{_SOUTH_EAST_ASIAN}]+)")


def character_ngrams(text: str) -> str:
    """Return the overlapping pairs of East Asian, triples of South-East Asian characters.

    Postgres parses a run of such text as one word, which a question never repeats whole.

    Returns:
        The n-grams, separated by spaces; empty for other scripts.
    """
    return " ".join(
        run[at : at + size]
        for east, south_east in _RUN.findall(text)
        for run, size in ((east, 2), (south_east, 3))
        for at in range(max(1, len(run) - size + 1))
        if run
    )


# The row of this lexeme counts all chunks and their tokens.
TOTAL = ""

_FREQUENCIES = """
WITH words AS (
  SELECT lexeme, cardinality(positions) AS times
    FROM unnest(to_tsvector(%(language)s::regconfig, %(text)s) || to_tsvector('simple', %(ngrams)s))
  UNION SELECT '', 1
)
SELECT t.lexeme, sum(t.chunk_count)::bigint, sum(t.token_count)::bigint, w.times
  FROM corpus_termcount t JOIN words w USING (lexeme)
 WHERE t.collection_id = ANY(%(collections)s)
 GROUP BY t.lexeme, w.times HAVING sum(t.chunk_count) > 0
"""

_CHUNKS = """
SELECT sum(chunk_count)::bigint FROM corpus_termcount
 WHERE collection_id = ANY(%s) AND lexeme = ''
"""

# Nothing of stop words, of which no lexeme is left.
_WORD_COUNTS = """
SELECT w.word, coalesce(sum(t.chunk_count), 0)::bigint
  FROM unnest(%s::text[]) AS w (word)
 CROSS JOIN LATERAL unnest(to_tsvector(%s::regconfig, w.word)) AS l
  LEFT JOIN corpus_termcount t ON t.collection_id = ANY(%s) AND t.lexeme = l.lexeme
 GROUP BY w.word
"""

# The statement adds up only the rows that it deletes: rows that are appended meanwhile stay.
_SUM_UP = """
WITH appended AS (
  DELETE FROM corpus_termcount t USING (
    SELECT collection_id, lexeme FROM corpus_termcount {which}) words
   WHERE t.collection_id = words.collection_id AND t.lexeme = words.lexeme
  RETURNING t.*
)
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT collection_id, lexeme, sum(chunk_count), sum(token_count) FROM appended
 GROUP BY collection_id, lexeme HAVING sum(chunk_count) <> 0
"""
_COMPACT = _SUM_UP.format(which="GROUP BY collection_id, lexeme HAVING count(*) > 1")
_DROP_UNUSED = _SUM_UP.format(
    which="""
     WHERE collection_id = %(collection)s AND lexeme = ANY(%(words)s)
     GROUP BY collection_id, lexeme HAVING sum(chunk_count) = 0"""
)
_WORDS = """
SELECT DISTINCT unnest(tsvector_to_array(lexemes)) FROM corpus_chunk WHERE id = ANY(%s)
"""
# Two concurrent runs would each leave a word whose last two chunks they deleted.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(0x706b625f7464)"


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Frequencies of a text's words in collections.

    Attributes:
        by_lexeme: Number of chunks with each word, for words that occur.
        times: Occurrences of each word in the text.
        mean_tokens: Mean length of a chunk in tokens.
    """

    by_lexeme: dict[str, int]
    times: dict[str, int]
    chunk_count: int
    mean_tokens: float


def read_frequencies(text: str, *, collection_ids: Sequence[int], language: str) -> Frequencies:
    """Return the frequencies of the words of ``text``."""
    values: dict[str, Any] = {
        "text": text,
        "ngrams": character_ngrams(text),
        "language": language,
        "collections": list(collection_ids),
    }
    rows = {lexeme: numbers for lexeme, *numbers in execute(_FREQUENCIES, values)}
    chunk_count, token_count, _ = rows.pop(TOTAL, (0, 0, 1))
    return Frequencies(
        by_lexeme={lexeme: chunks for lexeme, (chunks, _, _) in rows.items()},
        times={lexeme: times for lexeme, (_, _, times) in rows.items()},
        chunk_count=chunk_count,
        mean_tokens=token_count / max(chunk_count, 1),
    )


def count_chunks(collection_ids: Sequence[int]) -> int:
    """Return the number of chunks of collections from the counts."""
    ((count,),) = execute(_CHUNKS, [list(collection_ids)])
    return count or 0


def count_words(
    words: Iterable[str], *, collection_ids: Sequence[int], language: str
) -> dict[str, int]:
    """Return the number of chunks with each word in any form, 0 included; without stop words."""
    return dict(execute(_WORD_COUNTS, [list(words), language, list(collection_ids)]))


def compact_term_counts() -> int:
    """Replace the rows of each word by their sum; rows that are appended meanwhile stay.

    Returns:
        The number of rows written.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        cursor.execute(_COMPACT)
        return int(cursor.rowcount)


def read_words(chunks: Iterable[UUID]) -> list[str]:
    """Return the distinct lexemes of chunks."""
    return [word for (word,) in execute(_WORDS, [list(chunks)])]


def drop_unused_words(words: Sequence[str], *, collection_id: int) -> None:
    """Delete the counts of words that no chunk of the collection contains any more.

    Call it last in a transaction: others that delete words wait for its commit.
    """
    if words:
        execute(_ONE_AT_A_TIME)
        execute(_DROP_UNUSED, {"words": list(words), "collection": collection_id})


# BM25's usual parameters: saturation of repeated words, and normalization by length.
K1 = 1.2
B = 0.75
# Maximum chunks that the candidate words match; more do not improve the order
# (docs/decisions/0013).
CANDIDATE_BUDGET = 2_000
# Number of rarest words to combine, if each alone matches too many chunks.
COMBINED_WORDS = 8
# Maximum number of chunks to score for frequent words: 30 us each.
SCORED_CHUNKS = 10_000


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A query's words with their weights.

    Attributes:
        candidates: A tsquery of the rarest words, joined by or; if each is in too many chunks, of
            the rarest combinations of words.
        is_narrowed: The candidates contain several words each.
        every_word: A tsquery of all words, joined by or.
        words: Lexemes that occur in the collection, the rarest first.
        counts: Number of chunks with each word.
        chunk_count: Number of chunks of the collection.
        weights: Inverse document frequency of each word, times its occurrences in the query.
        mean_tokens: Mean length of a chunk in tokens.
        phrases: Phrases that raise the score of a chunk with the exact words.
        phrase_bonus: Score of a phrase: the maximum of one more word, as rare as the rarest.
    """

    candidates: str
    is_narrowed: bool
    every_word: str
    words: tuple[str, ...]
    counts: tuple[int, ...]
    weights: tuple[float, ...]
    mean_tokens: float
    phrases: tuple[str, ...]
    phrase_bonus: float
    language: str
    chunk_count: int

    def among(self, share: float) -> "LexicalQuery":
        """Return the query with candidates for this share of the collection, from 0 to 1.

        A smaller share allows more words.
        """
        counted = [
            (word, share * count) for word, count in zip(self.words, self.counts, strict=True)
        ]
        chosen = _choose_candidates(counted, chunk_count=share * self.chunk_count)
        return replace(
            self,
            candidates=" | ".join(" & ".join(map(_quote, words)) for words in chosen),
            is_narrowed=counted[0][1] > CANDIDATE_BUDGET,
        )


def read_lexical_query(
    text: str, *, collection_ids: Sequence[int], language: str, phrases: Sequence[str] = ()
) -> LexicalQuery | None:
    """Return the query of a text's words, weighted for the collections; None if none occurs.

    A repeated word counts repeatedly (docs/decisions/0004).

    Args:
        phrases: Quoted parts of the text.
    """
    frequencies = read_frequencies(text, collection_ids=collection_ids, language=language)
    rarest_first = sorted(frequencies.by_lexeme.items(), key=lambda item: (item[1], item[0]))
    if not rarest_first:
        return None
    count = frequencies.chunk_count
    rarity = [math.log(1 + (count - n + 0.5) / (n + 0.5)) for _, n in rarest_first]
    times = [frequencies.times[lexeme] for lexeme, _ in rarest_first]
    words = tuple(lexeme for lexeme, _ in rarest_first)
    every_word = " | ".join(map(_quote, words))
    query = LexicalQuery(
        candidates=every_word,
        is_narrowed=False,
        every_word=every_word,
        words=words,
        counts=tuple(chunks for _, chunks in rarest_first),
        weights=tuple(map(operator.mul, rarity, times)),
        mean_tokens=max(frequencies.mean_tokens, 1.0),
        phrases=tuple(phrases),
        phrase_bonus=(K1 + 1) * max(rarity),
        language=language,
        chunk_count=count,
    )
    return query.among(1)


def _choose_candidates(
    rarest_first: Sequence[tuple[str, float]], *, chunk_count: float
) -> list[tuple[str, ...]]:
    """Return words, or groups of words, that few chunks contain, the rarest first.

    The chunks of a group are estimated as if its words were independent.
    """
    if rarest_first[0][1] <= CANDIDATE_BUDGET:
        return _within_budget([((word,), count) for word, count in rarest_first])
    share = {word: count / max(chunk_count, count) for word, count in rarest_first[:COMBINED_WORDS]}
    groups: list[tuple[tuple[str, ...], float]] = []
    for size in range(1, len(share) + 1):
        groups = [
            (words, chunk_count * math.prod(share[word] for word in words))
            for words in combinations(share, size)
        ]
        if min(count for _, count in groups) <= CANDIDATE_BUDGET:
            break
    return _within_budget(sorted(groups, key=operator.itemgetter(1)))


def _within_budget(groups: Sequence[tuple[tuple[str, ...], float]]) -> list[tuple[str, ...]]:
    totals = accumulate(count for _, count in groups)
    affordable = [
        words for (words, _), total in zip(groups, totals, strict=True) if total <= CANDIDATE_BUDGET
    ]
    return affordable or [groups[0][0]]


def _quote(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


class Phrase(SearchQuery):
    """A query for stemmed words in a row."""

    def __init__(self, words: str, *, language: str) -> None:
        super().__init__(words, search_type="phrase", config=language)


class OpenPhrase(Phrase):
    """A query for stemmed words in a row, the last of which may be a prefix.

    A phrase of stop words only, such as ``the``, matches nothing.
    """

    def as_sql(self, *args: Any, **context: Any) -> Any:
        sql, parameters = super().as_sql(*args, **context)
        return f"(nullif({sql}::text, '') || ':*')::tsquery", parameters


def phrase_condition(text: str, languages: Iterable[str], phrase: type[Phrase]) -> Q:
    """Return the condition that a chunk in one of the languages contains the words in a row."""
    conditions = [Q(language=name, lexemes=phrase(text, language=name)) for name in languages]
    if ngrams := character_ngrams(text):
        conditions.append(Q(lexemes=phrase(ngrams, language="simple")))
    return reduce(operator.or_, conditions)


_OCCURRING = """
WITH passages AS MATERIALIZED (
  SELECT to_tsvector(%(language)s::regconfig, text) || to_tsvector('simple', ngrams) AS lexemes
    FROM unnest(%(texts)s::text[], %(ngrams)s::text[]) AS passage(text, ngrams)
)
SELECT phrase.text
  FROM unnest(%(phrases)s::text[], %(phrase_ngrams)s::text[]) AS phrase(text, ngrams)
 WHERE EXISTS (SELECT FROM passages
                WHERE lexemes @@ phraseto_tsquery(%(language)s::regconfig, phrase.text)
                   OR lexemes @@ phraseto_tsquery('simple', phrase.ngrams))
"""


def find_phrases(
    phrases: Collection[str], passages: Sequence[str], *, language: str
) -> frozenset[str]:
    """Return the phrases of which a passage contains the stemmed words in a row.

    Passages need not be stored; they are compared as the chunks of ``phrase_condition``.
    """
    if not phrases:
        return frozenset()
    values: dict[str, Any] = {
        "language": language,
        "texts": list(passages),
        "ngrams": list(map(character_ngrams, passages)),
        "phrases": list(phrases),
        "phrase_ngrams": list(map(character_ngrams, phrases)),
    }
    return frozenset(phrase for (phrase,) in execute(_OCCURRING, values))


class IsAnyOf(Func):
    """The condition that a value is in an array.

    The array of a subquery is computed once. With ``IN``, the planner may repeat a limited subquery
    for each row if it underestimates the tables, as before they are analyzed.
    """

    output_field = BooleanField()
    arg_joiner = " = ANY("
    template = "%(expressions)s)"


# Maximum positions of a word in a tsvector.
MAX_POSITIONS = 255
# ts_rank of a word that occurs n times is (1 + 1/4 + ... + 1/n^2) / (pi^2/6).
_RANKS = [0.0, *accumulate(1 / n**2 / (math.pi**2 / 6) for n in range(1, MAX_POSITIONS + 1))]
_RANKS_BETWEEN = ",".join(f"{(low + high) / 2:.9f}" for low, high in pairwise(_RANKS))


class Bm25Score(Func):
    """The BM25 score of a chunk, from the positions in its tsvector.

    The number of occurrences is derived from ``ts_rank``, which reads a single word: unpacking all
    words of a chunk takes several times as long. ``||`` detoasts the tsvector once.
    """

    output_field = FloatField()
    template = (
        f"(SELECT sum(w.weight * found.tf * {K1 + 1} / (found.tf + {K1} *"  # noqa: S608
        f" (1 - {B} + {B} * corpus_chunk.token_count / %(mean_tokens)s)))"
        " FROM (SELECT corpus_chunk.lexemes || ''::tsvector AS lexemes OFFSET 0) kept"
        " CROSS JOIN unnest(%%s::tsquery[], %%s::float8[]) AS w(word, weight)"
        " CROSS JOIN LATERAL (SELECT width_bucket("
        "ts_rank('{1,1,1,1}', kept.lexemes, w.word)::float8,"
        f" '{{{_RANKS_BETWEEN}}}'::float8[])::float8 AS tf OFFSET 0) found"
        " WHERE found.tf > 0)"
    )

    def __init__(self, query: LexicalQuery) -> None:
        super().__init__(mean_tokens=repr(float(query.mean_tokens)))
        self.query = query

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> Any:
        sql, _ = super().as_sql(compiler, connection, *args, **context)
        return sql, [list(map(_quote, self.query.words)), list(self.query.weights)]
