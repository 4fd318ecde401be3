"""Search one collection for passages: no answer, just what was found."""

from dataclasses import dataclass
from time import perf_counter

from qa.ports import QAContext
from qa.reranking import rerank_passages
from qa.types import Passage, Query

# Passages that are looked at for each one asked for, so that a threshold leaves enough.
OVERSAMPLING = 4


@dataclass(frozen=True, slots=True)
class Found:
    """Passages, best first, and the time that finding them took."""

    query: str
    results: tuple[Passage, ...]
    embedding_time_ms: float
    search_time_ms: float

    @property
    def total_results(self) -> int:
        return len(self.results)


def search_passages(
    query: Query, *, mode: str, threshold: float, rerank: bool, context: QAContext
) -> Found:
    """Return at most ``query.k`` passages at least ``threshold`` similar to the query.

    Raises:
        CollectionNotFound: There is no such collection.
        BackendError: A model failed.
    """
    limit = max(query.k * OVERSAMPLING, context.rerank_count)
    retrieved = context.retriever.retrieve(query, limit=limit, mode=mode)
    started = perf_counter()
    passages = [passage for passage in retrieved.passages if passage.similarity >= threshold]
    if rerank and passages:
        passages = rerank_passages(
            query.text,
            passages,
            reranker=context.reranker,
            weight=context.rerank_weight,
            count=context.rerank_count,
            per_document=context.per_document,
            limit=query.k,
        )
    return Found(
        query=query.text,
        results=tuple(passages[: query.k]),
        embedding_time_ms=retrieved.embedding_ms,
        search_time_ms=retrieved.search_ms + (perf_counter() - started) * 1000,
    )
