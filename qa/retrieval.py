"""Find candidate passages: nearest vectors and matching words, fused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeVar
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import OuterRef, Subquery
from numpy.typing import NDArray
from pgvector.django import CosineDistance

from corpus.bm25 import read_lexical_query
from corpus.embedding import get_embedder
from corpus.models import Chunk, Collection, Embedding
from corpus.querysets import ChunkQuerySet, EmbeddingQuerySet
from corpus.telemetry import Span, span
from qa.fusion import best_first, weighted_sum
from qa.types import Passage, Query

Scores = dict[UUID, float]
Rows = TypeVar("Rows", ChunkQuerySet, EmbeddingQuerySet)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Passages, best first, and the time that finding them took."""

    passages: list[Passage]
    embedding_ms: float
    search_ms: float


class HybridRetriever:
    """Searches one collection by its own model, and by words.

    Attributes:
        alpha: Weight of the vector leg, in [0, 1].
        candidate_count: Rows that each leg brings.
    """

    def __init__(self, *, alpha: float, candidate_count: int) -> None:
        self.alpha = alpha
        self.candidate_count = candidate_count

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> Retrieved:
        """Return at most ``limit`` passages, best first.

        Args:
            mode: ``hybrid``, ``semantic`` (scores are cosine similarities) or ``lexical``.

        Raises:
            CollectionNotFound: There is no such collection.
            BackendError: The embedder failed.
        """
        collection = Collection.objects.named(query.collection)
        started = perf_counter()
        vector = get_embedder(collection.embedding_model).embed_query(query.text)
        embedded = perf_counter()
        scores = _MODES[mode](self, query, collection, vector, max(limit, self.candidate_count))
        best = best_first(scores, limit)
        passages = _read_passages(best, scores, vector, collection.embedding_model)
        if mode == "semantic":
            passages = _by_exact_similarity(passages)
        return Retrieved(
            passages,
            embedding_ms=(embedded - started) * 1000,
            search_ms=(perf_counter() - embedded) * 1000,
        )

    def _hybrid(
        self, query: Query, collection: Collection, vector: NDArray[np.float32], count: int
    ) -> Scores:
        near = _nearest(query, collection, vector, count)
        worded = _matching(query, collection, count)
        with span(Span.RETRIEVE_FUSE):
            return weighted_sum([(self.alpha, near), (1 - self.alpha, worded)])

    def _semantic(
        self, query: Query, collection: Collection, vector: NDArray[np.float32], count: int
    ) -> Scores:
        return _nearest(query, collection, vector, count)

    def _lexical(
        self, query: Query, collection: Collection, vector: NDArray[np.float32], count: int
    ) -> Scores:
        found = _matching(query, collection, count)
        best = max(found.values(), default=1.0)
        return {chunk_id: score / best for chunk_id, score in found.items()}


_MODES: dict[
    str, Callable[[HybridRetriever, Query, Collection, NDArray[np.float32], int], Scores]
] = {
    "hybrid": HybridRetriever._hybrid,
    "semantic": HybridRetriever._semantic,
    "lexical": HybridRetriever._lexical,
}


def _nearest(
    query: Query, collection: Collection, vector: NDArray[np.float32], count: int
) -> Scores:
    """Cosine similarity by chunk, clipped to 0."""
    with span(Span.RETRIEVE_VECTOR), span(Span.READ_VECTOR):
        rows = _visible(Embedding.objects.filter(collection=collection), query)
        found = rows.find_nearest(vector, model=collection.embedding_model, count=count)
        return {chunk_id: _similarity(distance) for chunk_id, distance in found}


def _matching(query: Query, collection: Collection, count: int) -> Scores:
    """BM25 by chunk."""
    with span(Span.RETRIEVE_LEXICAL), span(Span.READ_LEXICAL):
        words = read_lexical_query(
            query.text, collection_id=collection.pk, language=collection.language
        )
        if words is None:
            return {}
        rows = _visible(Chunk.objects.filter(collection=collection), query)
        found = rows.matching(words).values_list("pk", "bm25")[:count]  # type: ignore[misc]
        if len(found) < count and (query.tags or query.filters):
            # The rarest words were chosen over the whole collection.
            found = rows.matching(words, widely=True).values_list("pk", "bm25")[:count]  # type: ignore[misc]
        return dict(found)


def _visible(rows: Rows, query: Query) -> Rows:
    """Keep what the query's tags and filters leave; before anything is ranked."""
    rows = rows.tagged(query.tags)
    return rows.satisfying(query.filters) if query.filters else rows


def _similarity(distance: float | None) -> float:
    return 0.0 if distance is None else min(1.0, max(0.0, 1.0 - distance))


def _read_passages(
    chunk_ids: Sequence[UUID], scores: Scores, vector: NDArray[np.float32], model: str
) -> list[Passage]:
    embedding = Embedding.objects.filter(chunk=OuterRef("pk"), model=model)
    distance = embedding.annotate(exact=CosineDistance("vector", vector)).values("exact")[:1]
    chunks = (
        Chunk.objects.select_related("document")
        .defer("document__raw_text", "document__outline", "lexemes")
        .annotate(distance=Subquery(distance))
        .in_bulk(chunk_ids)
    )
    # A chunk may be deleted between the two reads: it is then no evidence any more.
    return [_passage(chunks[pk], scores[pk]) for pk in chunk_ids if pk in chunks]


def _passage(chunk: Chunk, score: float) -> Passage:
    document = chunk.document
    return Passage(
        chunk_id=str(chunk.pk),
        document_id=str(document.pk),
        content_sha256=document.content_sha256,
        title=document.title,
        source_uri=document.source_uri,
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
        text=chunk.text,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        similarity=_similarity(chunk.distance),  # type: ignore[attr-defined]
        score=score,
        metadata=document.metadata,
    )


def _by_exact_similarity(passages: list[Passage]) -> list[Passage]:
    """The index ranks in half precision; order and score by the vectors themselves."""
    exact = [replace(passage, score=passage.similarity) for passage in passages]
    return sorted(exact, key=lambda passage: -passage.score)


def default_retriever() -> HybridRetriever:
    return HybridRetriever(
        alpha=settings.PKB_FUSION_ALPHA, candidate_count=settings.PKB_CANDIDATE_COUNT
    )
