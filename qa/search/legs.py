"""The two legs of a search: the vector leg, by similarity, and the lexical leg, by BM25."""

from collections.abc import Iterable
from functools import cached_property
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from corpus.lexical import LexicalQuery, read_lexical_query
from corpus.models import Chunk, Collection, Embedding
from corpus.querysets import ChunkQuerySet, EmbeddingQuerySet
from corpus.telemetry import Step, span
from qa.questions import find_phrases
from qa.search.fusion import best_first
from qa.types import Query

Scores = dict[UUID, float]
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
        with span(Step.RETRIEVE_VECTOR), span(Step.READ_VECTOR):
            rows = self._visible(Embedding.objects.all())
            model = self._collection.embedding_model
            return _similarities(rows.find_nearest(self._vectors, model=model, count=self._count))

    def search_lexical(self, *, alone: bool = False) -> Scores:
        """Return BM25 of the chunks with the question's words.

        Args:
            alone: There is no other leg to bring rows where the rarest words are in too few.
        """
        words = self._words
        if words is None:
            return {}
        with span(Step.RETRIEVE_LEXICAL), span(Step.READ_LEXICAL):
            rows = self._visible(Chunk.objects.all())
            found = self._best(rows.matching(words))
            is_filtered = bool(self._query.tags or self._query.filters)
            if len(found) < self._count and (alone or is_filtered or words.is_narrowed):
                # The rarest words were chosen over the whole collection.
                found |= self._best(rows.matching(words, widely=True))
            return {chunk_id: found[chunk_id] for chunk_id in best_first(found, self._count)}

    def _best(self, matching: ChunkQuerySet) -> Scores:
        return dict(matching.values_list("pk", "bm25")[: self._count])  # type: ignore[misc]

    def score_vectors(self, chunk_ids: Iterable[UUID], *, otherwise: float = 0.0) -> Scores:
        """Return the similarity of each of the chunks; ``otherwise`` where one has no vector."""
        wanted = list(chunk_ids)
        rows = Embedding.objects.filter(chunk_id__in=wanted)
        model = self._collection.embedding_model
        found = _similarities(rows.at_distance(self._vectors, model=model))
        return {chunk_id: found.get(chunk_id, otherwise) for chunk_id in wanted}

    def score_lexical(self, chunk_ids: Iterable[UUID]) -> Scores:
        """Return BM25 of each of the chunks; 0 where one has none of the words."""
        wanted = list(chunk_ids)
        scored = {}
        if self._words is not None:
            rows = Chunk.objects.filter(pk__in=wanted).weighed(self._words)
            scored = dict(rows.values_list("pk", "bm25"))  # type: ignore[misc]
        return {chunk_id: scored.get(chunk_id) or 0.0 for chunk_id in wanted}

    @property
    def word_count(self) -> int:
        """How many of the question's words are in the collection."""
        return len(self._words.words) if self._words else 0

    @cached_property
    def _words(self) -> LexicalQuery | None:
        with span(Step.READ_LEXICAL):
            return read_lexical_query(
                self._query.text,
                phrases=find_phrases(self._query.text),
                collection_id=self._collection.pk,
                language=self._collection.language,
            )

    def _visible(self, rows: Rows) -> Rows:
        """Keep what the query's tags and filters leave; before anything is ranked."""
        rows = rows.filter(collection=self._collection).tagged(self._query.tags)
        return rows.satisfying(self._query.filters) if self._query.filters else rows


def _similarities(found: Iterable[tuple[UUID, float]]) -> Scores:
    return {chunk_id: similarity_of(distance) for chunk_id, distance in found}


def similarity_of(distance: float | None) -> float:
    """Return the cosine similarity, clipped to [0, 1]."""
    return 0.0 if distance is None else min(1.0, max(0.0, 1.0 - distance))
