"""Find candidate passages: nearest vectors and matching words, fused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import OuterRef, Subquery
from numpy.typing import NDArray
from pgvector.django import CosineDistance

from corpus.embedders import Embedder, get_embedder
from corpus.models import Chunk, Collection, Embedding
from corpus.telemetry import Step, span
from qa.questions import find_sentences
from qa.search.fusion import best_first, fuse_legs, keep_best
from qa.search.legs import Legs, Scores, similarity_of
from qa.types import Passage, Query


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """Passages, best first, and the time that finding them took."""

    passages: list[Passage]
    embedding_ms: float
    search_ms: float


class HybridRetriever:
    """Searches one collection by its own model, and by words.

    Attributes:
        alpha: Weight of the vector leg, in [0, 1].
        candidate_count: Rows that each leg brings, or more where more are asked for; the
            similarity of the nearest row with this number counts 0.
    """

    def __init__(self, *, alpha: float, candidate_count: int) -> None:
        self.alpha = alpha
        self.candidate_count = candidate_count

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        """Return at most ``limit`` passages, best first.

        Each wording of the query is searched; a chunk has the best of its scores. A passage's
        similarity is that to the query's text.

        A question of several sentences is searched by each of them too, since one vector of them
        all is near none (docs/decisions/0007).

        Args:
            mode: ``hybrid``, ``semantic`` (scores are cosine similarities) or ``lexical``.

        Raises:
            CollectionNotFound: There is no such collection.
            BackendError: The embedder failed.
        """
        collection = Collection.objects.named(query.collection)
        started = perf_counter()
        embedder = get_embedder(collection.embedding_model)
        vectors = [_embed(wording.text, embedder, mode=mode) for wording in query.wordings]
        embedded = perf_counter()
        count = max(limit, self.candidate_count)
        searches = [
            Legs(wording, collection, vectors=of_wording, count=count)
            for wording, of_wording in zip(query.wordings, vectors, strict=True)
        ]
        scores = keep_best(_MODES[mode](self, legs) for legs in searches)
        best = best_first(scores, limit)
        if mode == "semantic":
            # The index ranks in half precision; order and score by the vectors themselves.
            scores = keep_best(legs.score_vectors(best) for legs in searches)
            best = best_first(scores, limit)
        passages = _read_passages(best, scores, vectors[0][0], collection.embedding_model)
        return RetrievedPassages(
            passages,
            embedding_ms=(embedded - started) * 1000,
            search_ms=(perf_counter() - embedded) * 1000,
        )

    def _hybrid(self, legs: Legs) -> Scores:
        similarities, bm25 = legs.search_vectors(), legs.search_lexical()
        floor = self._find_floor(similarities)
        with span(Step.RETRIEVE_FUSE):
            # A chunk that has no vector yet is found by its words.
            unseen = bm25.keys() - similarities.keys()
            similarities |= legs.score_vectors(unseen, otherwise=floor)
            bm25 |= legs.score_lexical(similarities.keys() - bm25.keys())
            return fuse_legs(
                similarities, bm25, alpha=self.alpha, floor=floor, word_count=legs.word_count
            )

    def _find_floor(self, similarities: Scores) -> float:
        """Return the similarity that counts 0, however many rows were asked for.

        By the last of the rows, the order of the first ten would depend on how many are shown
        (docs/decisions/0006).
        """
        ranked = sorted(similarities.values(), reverse=True)[: self.candidate_count]
        return ranked[-1] if ranked else 0.0

    def _semantic(self, legs: Legs) -> Scores:
        return legs.search_vectors()

    def _lexical(self, legs: Legs) -> Scores:
        found = legs.search_lexical(alone=True)
        best = max(found.values(), default=1.0)
        return {chunk_id: score / best for chunk_id, score in found.items()}


_MODES: dict[str, Callable[[HybridRetriever, Legs], Scores]] = {
    "hybrid": HybridRetriever._hybrid,
    "semantic": HybridRetriever._semantic,
    "lexical": HybridRetriever._lexical,
}


def _embed(text: str, embedder: Embedder, *, mode: str) -> NDArray[np.float32]:
    """Return the text's vector first; for ``hybrid`` then those of its sentences. (m, d)."""
    sentences = find_sentences(text) if mode == "hybrid" else ()
    return np.stack([embedder.embed_query(part) for part in (text, *sentences)])


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
    return [
        passage_of(
            chunks[pk],
            score=scores[pk],
            similarity=similarity_of(chunks[pk].distance),  # type: ignore[attr-defined]
        )
        for pk in chunk_ids
        if pk in chunks
    ]


def passage_of(chunk: Chunk, *, score: float, similarity: float) -> Passage:
    """Return a chunk, with its document, as evidence."""
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
        similarity=similarity,
        score=max(0.0, score),
        metadata=document.metadata,
    )


def default_retriever() -> HybridRetriever:
    return HybridRetriever(
        alpha=settings.PKB_FUSION_ALPHA, candidate_count=settings.PKB_CANDIDATE_COUNT
    )
