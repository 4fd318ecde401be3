"""Retrieve candidate passages by vectors and by words, and fuse the scores."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

import numpy as np
from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import Count, F, Q, QuerySet, TextField, UUIDField, Value
from django.db.models.functions import Cast
from django.utils import timezone
from numpy.typing import NDArray

from corpus.embedders import embed_queries, get_embedder
from corpus.lexical import CANDIDATE_BUDGET, IsAnyOf, LexicalQuery, count_chunks, read_lexical_query
from corpus.loaders.metadata import document_date
from corpus.models import Chunk, ChunkTag, Collection, Embedding, Tag
from corpus.models.chunk import ChunkQuerySet, EmbeddingQuerySet, exact_scan_limit
from corpus.postgres import one_snapshot
from corpus.roots.shown_paths import shown_uri
from corpus.telemetry import Step, span
from corpus.vector_index import count_indexed
from qa.intent import find_phrases, find_sentences
from qa.search.ranking import best_first, fuse_scores, keep_best
from qa.types import Passage, Query


@dataclass(frozen=True, slots=True)
class PrefetchedChunks:
    """The ids of chunks that a filter leaves.

    Attributes:
        keys: A Postgres array literal, so that Python does not parse 10,000 ids.
        count: Their number, duplicates included.
    """

    keys: str
    count: int

    def condition(self, column: str) -> Q:
        """Return the condition that a column's id is one of these."""
        return Q(IsAnyOf(F(column), Cast(Value(self.keys), ArrayField(UUIDField()))))


def prefetch_chunks(rows: QuerySet[Any], column: str, *, max_count: int) -> PrefetchedChunks | None:
    """Return the chunk ids in a column of the rows; None if there are more than ``max_count``."""
    keys = Cast(ArrayAgg(column, default=Value([])), TextField())
    some = rows.order_by().values(column)[: max_count + 1]
    aggregate = some.aggregate(count=Count("*"), keys=keys)
    return None if aggregate["count"] > max_count else PrefetchedChunks(**aggregate)


Scores = dict[UUID, float]

# Where the words that are rare in the collection are in too few of what a filter leaves, more are
# asked for, as of a collection that is so much of it (docs/decisions/0013).
WIDER_SHARE = 0.1
# Rows that are compared one by one where a filter names them, for each that otherwise is: a join
# with them costs as much again (docs/decisions/0012).
NAMED_PER_COMPARED = 2
# The right document is among the best far more often than the passage that answers is among the
# candidates. So further passages of the documents with the best candidates are compared: those
# nearest to the question. A document has the score of its best passage, with this weight beside
# that of a passage, which is 1 (docs/decisions/0004).
BEST_DOCUMENTS = 5
MAX_FURTHER = 60
DOCUMENT_WEIGHT = 0.6
# Of a document with more chunks, only the candidates are compared.
MAX_DOCUMENT_CHUNKS = 500


class Compared(NamedTuple):
    """Similarities of a chunk to a query.

    Attributes:
        similarity: Cosine, clipped to [0, 1], to the most similar of the query's vectors; None
            if the chunk has no vector yet.
        question_similarity: The same to the whole question; 0 without a vector.
        bm25: 0 if it has none of the query's words.
    """

    document_id: UUID
    similarity: float | None
    question_similarity: float
    bm25: float


Rows = TypeVar("Rows", ChunkQuerySet, EmbeddingQuerySet)


class CandidateSearch:
    """Vector and lexical search for one question.

    Args:
        collections: At least one, of the same embedding model and language.
        vectors: Of the question and its parts, float32, shape (m, d), of L2 norm 1. A chunk's
            similarity is its highest to any of them.
        count: Rows that each search returns.
    """

    def __init__(
        self,
        query: Query,
        collections: Sequence[Collection],
        *,
        vectors: NDArray[np.float32],
        count: int,
    ) -> None:
        self._query = query
        self._collection_ids = [each.pk for each in collections]
        self._model, self._language = collections[0].embedding_model, collections[0].language
        self._vectors = vectors
        self._count = count

    def search_vectors(self) -> Scores:
        """Return the cosine similarities of the most similar chunks, at least 0."""
        among = inf
        if not self._is_filtered:
            words = self._words
            among = words.chunk_count if words else count_chunks(self._collection_ids)
        with span(Step.RETRIEVE_VECTOR), span(Step.READ_VECTOR):
            model, rows = self._model, self._embeddings()
            if self._prefetched is not None:
                return _similarities(
                    rows.with_exact_distance(self._vectors, model=model)[: self._count]
                )
            nearest = rows.find_nearest(self._vectors, model=model, count=self._count, among=among)
            return _similarities(nearest)

    def search_lexical(self, *, alone: bool = False) -> Scores:
        """Return BM25 scores of chunks with the question's words.

        Args:
            alone: There is no vector search to return more rows if the rarest words match too few.
        """
        words = self._words
        if words is None:
            return {}
        with span(Step.RETRIEVE_LEXICAL), span(Step.READ_LEXICAL):
            scores = self._match(words, alone=alone)
            return {chunk_id: scores[chunk_id] for chunk_id in best_first(scores, self._count)}

    def _match(self, words: LexicalQuery, *, alone: bool) -> Scores:
        if self._prefetched is not None:
            # Score the chunks by the words that are rare among them, or by all if too few match.
            rows = self._own(Chunk.objects.all(), self._prefetched.condition("pk"))
            if self._prefetched.count > CANDIDATE_BUDGET:
                words = words.among(
                    self._prefetched.count / max(words.chunk_count, self._prefetched.count)
                )
                scores = self._best(rows.matching_tsquery(words.candidates).ranked(words))
                if len(scores) >= self._count or words.candidates == words.every_word:
                    return scores
            return self._best(rows.ranked(words))
        rows = self._visible(Chunk.objects.all())
        scores = self._best(rows.matching(words))
        # The rarest words were chosen over the whole collection.
        if len(scores) < self._count and self._is_filtered:
            wider = words.among(WIDER_SHARE)
            scores |= self._best(rows.matching(wider, max_count=CANDIDATE_BUDGET))
        if len(scores) < self._count and (alone or self._is_filtered or words.is_narrowed):
            scores |= self._best(rows.matching(words, widely=True))
        return scores

    def _best(self, ranked: ChunkQuerySet) -> Scores:
        rows = ranked.values_list("pk", "bm25")[: self._count]  # type: ignore[misc]
        return {chunk_id: score for chunk_id, score in rows if score is not None}

    def compare(
        self, chunk_ids: Iterable[UUID], *, question: NDArray[np.float32]
    ) -> dict[UUID, Compared]:
        """Compare chunks with the query by both searches; skip deleted ones.

        Args:
            question: Vector of the whole question, of shape (d,).
        """
        with span(Step.READ_CANDIDATES):
            rows = Chunk.objects.filter(pk__in=list(chunk_ids))
            rows = rows.with_distances(self._vectors, question, model=self._model)
            values = ["pk", "document_id", "distance", "question_distance"]
            if self._words is not None:
                rows, values = rows.with_bm25(self._words), [*values, "bm25"]
            return {
                pk: Compared(
                    document_id,
                    similarity=None if distance is None else similarity_of(distance),
                    question_similarity=similarity_of(question_distance),
                    bm25=(bm25 and bm25[0]) or 0.0,
                )
                for pk, document_id, distance, question_distance, *bm25 in rows.values_list(*values)
            }

    def find_in_documents(self, document_ids: Iterable[UUID]) -> set[UUID]:
        """Return at most ``MAX_FURTHER`` chunks of these documents, the nearest to the query."""
        with span(Step.READ_CANDIDATES):
            rows = self._embeddings().filter(
                chunk__document__in=list(document_ids),
                chunk__document__chunk_count__lte=MAX_DOCUMENT_CHUNKS,
            )
            nearest = rows.with_exact_distance(self._vectors, model=self._model)
            return {chunk_id for chunk_id, _ in nearest[:MAX_FURTHER]}

    @property
    def word_count(self) -> int:
        """Return how many of the question's words the collections have."""
        return len(self._words.words) if self._words else 0

    @cached_property
    def _words(self) -> LexicalQuery | None:
        with span(Step.READ_LEXICAL):
            return read_lexical_query(
                self._query.text,
                phrases=find_phrases(self._query.text),
                collection_ids=self._collection_ids,
                language=self._language,
            )

    @property
    def _is_filtered(self) -> bool:
        return bool(self._query.tags or self._query.filters)

    @cached_property
    def _prefetched(self) -> PrefetchedChunks | None:
        """Return the chunks a selective filter leaves; None without one."""
        if not self._is_filtered:
            return None
        max_count = NAMED_PER_COMPARED * exact_scan_limit(count_indexed(self._model))
        if self._query.filters:
            return prefetch_chunks(self._visible(Chunk.objects.all()), "pk", max_count=max_count)
        # Without reading the chunks themselves, each on a page of its own.
        tags = Tag.objects.filter(collection__in=self._collection_ids, name__in=self._query.tags)
        return prefetch_chunks(
            ChunkTag.objects.filter(tag__in=list(tags)), "chunk_id", max_count=max_count
        )

    def _embeddings(self) -> EmbeddingQuerySet:
        """Return the vectors of what the query's tags and filters leave."""
        if self._prefetched is None:
            return self._visible(Embedding.objects.all())
        return self._own(Embedding.objects.all(), self._prefetched.condition("chunk_id"))

    def _visible(self, rows: Rows) -> Rows:
        """Apply the query's tags and filters, before ranking."""
        rows = self._own(rows).tagged(self._query.tags)
        return rows.matching_filter(self._query.filters) if self._query.filters else rows

    def _own(self, rows: Rows, *conditions: Q) -> Rows:
        return rows.filter(*conditions, collection__in=self._collection_ids)


def _similarities(distances: Iterable[tuple[UUID, float]]) -> Scores:
    return {chunk_id: similarity_of(distance) for chunk_id, distance in distances}


def similarity_of(distance: float | None) -> float:
    """Return the cosine similarity, clipped to [0, 1]."""
    return 0.0 if distance is None else min(1.0, max(0.0, 1.0 - distance))


# The scores of chunks, and what they were compared by.
ScoredChunks = tuple[Scores, dict[UUID, Compared]]


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """Passages, best first, and the time taken."""

    passages: list[Passage]
    embedding_ms: float
    search_ms: float


class Retriever(Protocol):
    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages: ...


@dataclass(frozen=True, slots=True)
class HybridRetriever:
    """Searches collections by their embedding models and by words.

    Those of one model and language are searched as if they were one: their scores compare. Scores
    of others only compare to the best of their own, so the reranker decides between them.

    Attributes:
        alpha: Weight of the vector search, in [0, 1].
        candidate_count: Rows that each search returns, or more if more are requested; the row with
            this rank by similarity scores 0.
    """

    alpha: float
    candidate_count: int

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        """Return at most ``limit`` passages, best first.

        A question of several sentences is also searched by each sentence, since one vector of them
        all is close to none (docs/decisions/0004).

        Args:
            mode: ``hybrid``, ``semantic`` (scores are cosine similarities) or ``lexical``.

        Raises:
            CollectionNotFound: There is no collection of this name.
            BackendError: The embedder failed.
        """
        alike: defaultdict[tuple[str, str], list[Collection]] = defaultdict(list)
        for collection in Collection.objects.get_asked(query.collection):
            alike[collection.embedding_model, collection.language].append(collection)
        started = perf_counter()
        count = max(limit, self.candidate_count)
        searches = []
        for (model, _), collections in alike.items():
            sentences = find_sentences(query.text) if mode == "hybrid" else ()
            vectors = embed_queries([query.text, *sentences], embedder=get_embedder(model))
            search = CandidateSearch(query, collections, vectors=vectors, count=count)
            searches.append(partial(self._search, search, mode=mode, question=vectors[0]))
        embedded = perf_counter()
        # Read in one snapshot: another version would be a gap, or a mix of both.
        with one_snapshot():
            results = [search() for search in searches]
            scores = keep_best(each for each, _ in results)
            rows = {pk: row for _, compared in results for pk, row in compared.items()}
            best = best_first(scores, limit)
            chunks = Chunk.objects.with_document().in_bulk(best)
            passages = [
                passage_of(chunks[pk], score=scores[pk], similarity=rows[pk].question_similarity)
                for pk in best
            ]
        return RetrievedPassages(
            passages,
            embedding_ms=(embedded - started) * 1000,
            search_ms=(perf_counter() - embedded) * 1000,
        )

    def _search(
        self, candidates: CandidateSearch, *, mode: str, question: NDArray[np.float32]
    ) -> ScoredChunks:
        if mode == "semantic":
            # The index ranks in half precision; order and score by the vectors themselves.
            rows = candidates.compare(candidates.search_vectors(), question=question)
            return {pk: row.similarity or 0.0 for pk, row in rows.items()}, rows
        if mode == "lexical":
            scores = candidates.search_lexical(alone=True)
            best = max(scores.values(), default=1.0)
            rows = candidates.compare(scores, question=question)
            return {pk: scores[pk] / best for pk in rows}, rows
        near, matching = candidates.search_vectors(), candidates.search_lexical()
        with span(Step.RETRIEVE_FUSE):
            rows = candidates.compare(near.keys() | matching.keys(), question=question)
            # A fixed rank scores 0, however many rows were requested: by the last row, the order of
            # the first ten would depend on how many are shown (docs/decisions/0004).
            ranked = sorted(
                (rows[pk].similarity or 0.0 for pk in near.keys() & rows.keys()), reverse=True
            )[: self.candidate_count]
            floor = ranked[-1] if ranked else 0.0
            fuse = partial(_fuse, alpha=self.alpha, floor=floor, word_count=candidates.word_count)
            documents = _score_documents(fuse(rows), rows)
            further = candidates.find_in_documents(best_first(documents, BEST_DOCUMENTS))
            rows |= candidates.compare(further - rows.keys(), question=question)
            scores = fuse(rows)
            documents = _score_documents(scores, rows)
        return {
            pk: (score + DOCUMENT_WEIGHT * documents[rows[pk].document_id]) / (1 + DOCUMENT_WEIGHT)
            for pk, score in scores.items()
        }, rows


def _fuse(rows: Mapping[UUID, Compared], *, alpha: float, floor: float, word_count: int) -> Scores:
    # A chunk that has no vector yet is found by its words.
    similarities = {
        pk: floor if row.similarity is None else row.similarity for pk, row in rows.items()
    }
    bm25 = {pk: row.bm25 for pk, row in rows.items()}
    return fuse_scores(similarities, bm25, alpha=alpha, floor=floor, word_count=word_count)


def _score_documents(scores: Scores, rows: Mapping[UUID, Compared]) -> Scores:
    """Return the score of each document, that of its best chunk."""
    return keep_best({rows[pk].document_id: score} for pk, score in scores.items())


def passage_of(chunk: Chunk, *, score: float, similarity: float) -> Passage:
    document = chunk.document
    today = timezone.now().date()
    passage = Passage(
        chunk_id=str(chunk.pk),
        document_id=str(document.pk),
        content_sha256=document.content_sha256,
        title=document.title,
        source_uri=shown_uri(document.source_uri, file_path=document.file_path),
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
        text=chunk.text,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        similarity=similarity,
        score=max(0.0, score),
        document_date=document_date(document.metadata, document.user_created_at, today=today),
        metadata=document.metadata,
        file_words=document.file_words,
        collection_id=chunk.collection_id,
    )
    return replace(passage, document_date=day) if (day := passage.message_day) else passage


@dataclass(frozen=True, slots=True)
class VersionPinnedRetriever:
    """Retrieves for all parts of a question from one version of each document.

    Attributes:
        versions: The hash of each document found, by its id.
    """

    retriever: Retriever
    versions: dict[str, str] = field(default_factory=dict)

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        retrieved = self.retriever.retrieve(query, limit=limit, mode=mode)
        passages = [
            passage
            for passage in retrieved.passages
            if self.versions.setdefault(passage.document_id, passage.content_sha256)
            == passage.content_sha256
        ]
        return replace(retrieved, passages=passages)

    def forget_versions(self) -> None:
        """Start over, as long as nothing was answered yet."""
        self.versions.clear()


def default_retriever() -> HybridRetriever:
    return HybridRetriever(
        alpha=settings.PKB_FUSION_ALPHA, candidate_count=settings.PKB_CANDIDATE_COUNT
    )
