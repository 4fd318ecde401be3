"""Find candidate passages: nearest vectors and matching words, fused."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Protocol
from uuid import UUID

import numpy as np
from django.conf import settings
from django.utils import timezone
from numpy.typing import NDArray

from corpus.embedders import Embedder, embed_queries, get_embedder
from corpus.loaders.stated import day_of
from corpus.models import Chunk, Collection
from corpus.postgres.replica import read_evidence
from corpus.roots.names import shown_address
from corpus.telemetry import Step, span
from qa.questions import find_sentences
from qa.search.fusion import best_first, fuse_legs, keep_best
from qa.search.legs import Compared, Legs, Scores
from qa.types import Passage, Query

# The scores of chunks, and how like the query they are.
Found = tuple[Scores, dict[UUID, Compared]]


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """Passages, best first, and the time that finding them took."""

    passages: list[Passage]
    embedding_ms: float
    search_ms: float


class Retriever(Protocol):
    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages: ...


@dataclass(frozen=True, slots=True)
class HybridRetriever:
    """Searches one collection by its own model, and by words.

    Attributes:
        alpha: Weight of the vector leg, in [0, 1].
        candidate_count: Rows that each leg brings, or more where more are asked for; the
            similarity of the nearest row with this number counts 0.
    """

    alpha: float
    candidate_count: int

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        """Return at most ``limit`` passages, best first.

        Each wording of the query is searched; a chunk has the best of its scores. A passage's
        similarity is that to the query's text.

        A question of several sentences is searched by each of them too, since one vector of them
        all is near none (docs/decisions/0004).

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
        search = partial(_MODES[mode], self, question=vectors[0][0])
        # What was found is read again: another version by then would be a gap, or a mix of both.
        passages = read_evidence(lambda: _read_best(map(search, searches), limit))
        return RetrievedPassages(
            passages,
            embedding_ms=(embedded - started) * 1000,
            search_ms=(perf_counter() - embedded) * 1000,
        )

    def _hybrid(self, legs: Legs, *, question: NDArray[np.float32]) -> Found:
        near, matching = legs.search_vectors(), legs.search_lexical()
        with span(Step.RETRIEVE_FUSE):
            rows = legs.compare(near.keys() | matching.keys(), question=question)
            similarities = {
                pk: row.similarity for pk, row in rows.items() if row.similarity is not None
            }
            floor = self._find_floor(similarities[pk] for pk in near.keys() & similarities.keys())
            scores = fuse_legs(
                # A chunk that has no vector yet is found by its words.
                {pk: similarities.get(pk, floor) for pk in rows},
                {pk: row.bm25 for pk, row in rows.items()},
                alpha=self.alpha,
                floor=floor,
                word_count=legs.word_count,
            )
        return scores, rows

    def _find_floor(self, similarities: Iterable[float]) -> float:
        """Return the similarity that counts 0, however many rows were asked for.

        By the last of the rows, the order of the first ten would depend on how many are shown
        (docs/decisions/0004).
        """
        ranked = sorted(similarities, reverse=True)[: self.candidate_count]
        return ranked[-1] if ranked else 0.0

    def _semantic(self, legs: Legs, *, question: NDArray[np.float32]) -> Found:
        # The index ranks in half precision; order and score by the vectors themselves.
        rows = legs.compare(legs.search_vectors(), question=question)
        return {pk: row.similarity or 0.0 for pk, row in rows.items()}, rows

    def _lexical(self, legs: Legs, *, question: NDArray[np.float32]) -> Found:
        found = legs.search_lexical(alone=True)
        best = max(found.values(), default=1.0)
        rows = legs.compare(found, question=question)
        return {pk: found[pk] / best for pk in rows}, rows


_MODES: dict[str, Callable[..., Found]] = {
    "hybrid": HybridRetriever._hybrid,
    "semantic": HybridRetriever._semantic,
    "lexical": HybridRetriever._lexical,
}


def _read_best(found: Iterable[Found], limit: int) -> list[Passage]:
    """Read the chunks with the best scores of several searches, best first."""
    searches = list(found)
    scores = keep_best(scores for scores, _ in searches)
    rows = {pk: row for _, compared in searches for pk, row in compared.items()}
    best = best_first(scores, limit)
    chunks = Chunk.objects.with_document().in_bulk(best)
    return [
        passage_of(chunks[pk], score=scores[pk], similarity=rows[pk].question_similarity)
        for pk in best
    ]


def _embed(text: str, embedder: Embedder, *, mode: str) -> NDArray[np.float32]:
    """Return the text's vector first; for ``hybrid`` then those of its sentences. (m, d)."""
    sentences = find_sentences(text) if mode == "hybrid" else ()
    return embed_queries([text, *sentences], embedder=embedder)


def passage_of(chunk: Chunk, *, score: float, similarity: float) -> Passage:
    """Return a chunk, with its document, as evidence."""
    document = chunk.document
    today = timezone.now().date()
    return Passage(
        chunk_id=str(chunk.pk),
        document_id=str(document.pk),
        content_sha256=document.content_sha256,
        title=document.title,
        source_uri=shown_address(document.source_uri, file_path=document.file_path),
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
        text=chunk.text,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        similarity=similarity,
        score=max(0.0, score),
        document_date=day_of(document.metadata, document.user_created_at, today=today),
        metadata=document.metadata,
    )


@dataclass(frozen=True, slots=True)
class SteadyVersions:
    """Retrieves for the parts of one question, and leaves out what was replaced between two parts.

    Attributes:
        versions: The hash of each document that was found, by its id.
    """

    retriever: Retriever
    versions: dict[str, str] = field(default_factory=dict)

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        found = self.retriever.retrieve(query, limit=limit, mode=mode)
        kept = [
            passage
            for passage in found.passages
            if self.versions.setdefault(passage.document_id, passage.content_sha256)
            == passage.content_sha256
        ]
        return replace(found, passages=kept)

    def forget_versions(self) -> None:
        """Begin again: nothing was answered yet from what was found."""
        self.versions.clear()


def default_retriever() -> HybridRetriever:
    return HybridRetriever(
        alpha=settings.PKB_FUSION_ALPHA, candidate_count=settings.PKB_CANDIDATE_COUNT
    )
