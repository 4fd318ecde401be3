"""The two legs of a search: the vector leg, by similarity, and the lexical leg, by BM25."""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from corpus.lexical import LexicalQuery, read_lexical_query
from corpus.models import Chunk, Collection, Document, Embedding
from corpus.querysets import ChunkQuerySet, DocumentQuerySet, EmbeddingQuerySet
from corpus.telemetry import Step, span
from qa.questions import find_phrases
from qa.search.fusion import best_first
from qa.types import Query

Scores = dict[UUID, float]


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


Rows = TypeVar("Rows", ChunkQuerySet, DocumentQuerySet, EmbeddingQuerySet)


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
            documents = self._visible(Document.objects.all())
            found = rows.find_nearest(
                self._vectors, model=model, count=self._count, documents=documents
            )
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
            rows = self._visible(Chunk.objects.all())
            found = self._best(rows.matching(words))
            is_filtered = bool(self._query.tags or self._query.filters)
            if len(found) < self._count and (alone or is_filtered or words.is_narrowed):
                # The rarest words were chosen over the whole collection.
                found |= self._best(rows.matching(words, widely=True))
            return {chunk_id: found[chunk_id] for chunk_id in best_first(found, self._count)}

    def _best(self, matching: ChunkQuerySet) -> Scores:
        return dict(matching.values_list("pk", "bm25")[: self._count])  # type: ignore[misc]

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
