"""The two legs of a search: the vector leg, by similarity, and the lexical leg, by BM25."""

from collections.abc import Iterable
from functools import cached_property
from math import inf
from typing import NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from corpus.lexical import CANDIDATE_BUDGET, LexicalQuery, count_chunks, read_lexical_query
from corpus.models import Chunk, ChunkTag, Collection, Embedding, Tag
from corpus.querysets import ChunkQuerySet, EmbeddingQuerySet, most_compared
from corpus.telemetry import Step, span
from corpus.vector_index import count_indexed
from qa.questions import find_phrases
from qa.search.few_chunks import FewChunks, read_few
from qa.search.fusion import best_first
from qa.types import Query

Scores = dict[UUID, float]

# Where the words that are rare in the collection are in too few of what a filter leaves, more are
# asked for, as of a collection that is so much of it (docs/decisions/0013).
WIDER_SHARE = 0.1
# Rows that are compared one by one where a filter names them, for each that otherwise is: a join
# with them costs as much again (docs/decisions/0012).
NAMED_FOR_COMPARED = 2


class Compared(NamedTuple):
    """How like a query a chunk is.

    Attributes:
        similarity: Cosine, clipped to [0, 1], to the most similar of the query's vectors; None
            where the chunk has no vector yet.
        question_similarity: The same to the whole question; 0 without a vector.
        bm25: 0 where it has none of the query's words.
    """

    similarity: float | None
    question_similarity: float
    bm25: float


Rows = TypeVar("Rows", ChunkQuerySet, EmbeddingQuerySet)


class Legs:
    """Both legs for one question over one collection.

    Args:
        vectors: The question's, and those of its parts, float32, shape (m, d), of L2 norm 1. A
            chunk is as similar as it is to the most similar of them.
        count: Rows that each leg brings.
    """

    def __init__(
        self, query: Query, collection: Collection, *, vectors: NDArray[np.float32], count: int
    ) -> None:
        self._query = query
        self._collection = collection
        self._vectors = vectors
        self._count = count

    def search_vectors(self) -> Scores:
        """Return the cosine similarity of the most similar chunks, clipped to 0."""
        among = inf if self._is_filtered else self._chunk_count
        with span(Step.RETRIEVE_VECTOR), span(Step.READ_VECTOR):
            model = self._collection.embedding_model
            if self._few is not None:
                rows = self._own(Embedding.objects.all(), self._few.hold("chunk_id"))
                return _similarities(rows.at_distance(self._vectors, model=model)[: self._count])
            rows = self._visible(Embedding.objects.all())
            found = rows.find_nearest(self._vectors, model=model, count=self._count, among=among)
            return _similarities(found)

    def search_lexical(self, *, alone: bool = False) -> Scores:
        """Return BM25 of the chunks with the question's words.

        Args:
            alone: There is no other leg to bring rows where the rarest words are in too few.
        """
        words = self._words
        if words is None:
            return {}
        with span(Step.RETRIEVE_LEXICAL), span(Step.READ_LEXICAL):
            found = self._match(words, alone=alone)
            return {chunk_id: found[chunk_id] for chunk_id in best_first(found, self._count)}

    def _match(self, words: LexicalQuery, *, alone: bool) -> Scores:
        if self._few is not None:
            return self._match_few(words, self._few)
        rows = self._visible(Chunk.objects.all())
        found = self._best(rows.matching(words))
        # The rarest words were chosen over the whole collection.
        if len(found) < self._count and self._is_filtered:
            wider = words.among(WIDER_SHARE)
            found |= self._best(rows.matching(wider, most=CANDIDATE_BUDGET))
        if len(found) < self._count and (alone or self._is_filtered or words.is_narrowed):
            found |= self._best(rows.matching(words, widely=True))
        return found

    def _match_few(self, words: LexicalQuery, few: FewChunks) -> Scores:
        """Score chunks that have the words that are rare among them, or all if these are few."""
        rows = self._own(Chunk.objects.all(), few.hold("pk"))
        if few.count > CANDIDATE_BUDGET:
            words = words.among(few.count / max(words.chunk_count, few.count))
            found = self._best(rows.having(words.candidates).ranked(words))
            if len(found) >= self._count or words.candidates == words.every_word:
                return found
        return self._best(rows.ranked(words))

    def _best(self, ranked: ChunkQuerySet) -> Scores:
        found = ranked.values_list("pk", "bm25")[: self._count]  # type: ignore[misc]
        return {chunk_id: score for chunk_id, score in found if score is not None}

    def compare(
        self, chunk_ids: Iterable[UUID], *, question: NDArray[np.float32]
    ) -> dict[UUID, Compared]:
        """Compare chunks with the query by both legs; those that are gone are left out.

        Args:
            question: Vector of the whole question, of shape (d,).
        """
        with span(Step.READ_CANDIDATES):
            rows = Chunk.objects.filter(pk__in=list(chunk_ids))
            rows = rows.compared(self._vectors, question, model=self._collection.embedding_model)
            values = ["pk", "distance", "question_distance"]
            if self._words is not None:
                rows, values = rows.weighed(self._words), [*values, "bm25"]
            return {pk: _compared(*each) for pk, *each in rows.values_list(*values)}

    @property
    def word_count(self) -> int:
        """How many of the question's words are in the collection."""
        return len(self._words.words) if self._words else 0

    @property
    def _chunk_count(self) -> int:
        return self._words.chunk_count if self._words else count_chunks(self._collection.pk)

    @cached_property
    def _words(self) -> LexicalQuery | None:
        with span(Step.READ_LEXICAL):
            return read_lexical_query(
                self._query.text,
                phrases=find_phrases(self._query.text),
                collection_id=self._collection.pk,
                language=self._collection.language,
            )

    @property
    def _is_filtered(self) -> bool:
        return bool(self._query.tags or self._query.filters)

    @cached_property
    def _few(self) -> FewChunks | None:
        """What tags and filters leave, where it is compared one by one; None without any."""
        if not self._is_filtered:
            return None
        most = NAMED_FOR_COMPARED * most_compared(count_indexed(self._collection.embedding_model))
        if self._query.filters:
            return read_few(self._visible(Chunk.objects.all()), "pk", most=most)
        # Without the chunks themselves, each on a page of its own.
        tags = Tag.objects.filter(collection=self._collection, name__in=self._query.tags)
        return read_few(ChunkTag.objects.filter(tag__in=list(tags)), "chunk_id", most=most)

    def _visible(self, rows: Rows) -> Rows:
        """Keep what the query's tags and filters leave; before anything is ranked."""
        rows = self._own(rows).tagged(self._query.tags)
        return rows.satisfying(self._query.filters) if self._query.filters else rows

    def _own(self, rows: Rows, *conditions: Q) -> Rows:
        return rows.filter(*conditions, collection=self._collection)


def _compared(
    distance: float | None, question_distance: float | None, bm25: float | None = None
) -> Compared:
    return Compared(
        similarity=None if distance is None else similarity_of(distance),
        question_similarity=similarity_of(question_distance),
        bm25=bm25 or 0.0,
    )


def _similarities(found: Iterable[tuple[UUID, float]]) -> Scores:
    return {chunk_id: similarity_of(distance) for chunk_id, distance in found}


def similarity_of(distance: float | None) -> float:
    """Return the cosine similarity, clipped to [0, 1]."""
    return 0.0 if distance is None else min(1.0, max(0.0, 1.0 - distance))
