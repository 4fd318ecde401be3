"""Search for passages without answering; evaluate the passages of an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from corpus.models import Collection
from corpus.telemetry import hit_rate_at_k, mean_score_top1, mean_score_topk, metric_labels
from qa.context import QAContext
from qa.search.spelling import Correction, correct_spelling
from qa.types import Passage, Query

# Passages retrieved per requested one, so that a threshold leaves enough.
OVERSAMPLING = 4


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """Passages, best first, and the time taken.

    Attributes:
        query: As asked.
        searched: The query with its spelling corrected.
    """

    query: str
    searched: str
    corrections: tuple[Correction, ...]
    results: tuple[Passage, ...]
    embedding_time_ms: float
    search_time_ms: float

    @property
    def total_results(self) -> int:
        return len(self.results)


def search_passages(
    query: Query,
    *,
    mode: str = "hybrid",
    threshold: float = 0.0,
    rerank: bool = True,
    context: QAContext,
) -> FoundPassages:
    """Return at most ``query.k`` passages with at least ``threshold`` similarity.

    Raises:
        CollectionNotFound: There is no collection of this name.
        BackendError: A model failed.
    """
    limit = max(query.k * OVERSAMPLING, context.rerank_count)
    collections = Collection.objects.get_asked(query.collection)
    searched, corrections = correct_spelling(query.text, collections)
    corrected = replace(query, text=searched)
    retrieved = context.retrieve(corrected, limit=limit, mode=mode, rerank=rerank)
    started = perf_counter()
    passages = [passage for passage in retrieved.passages if passage.similarity >= threshold]
    if rerank:
        passages = context.rerank(searched, passages, limit=query.k)
    return FoundPassages(
        query=query.text,
        searched=searched,
        corrections=corrections,
        results=tuple(passages[: query.k]),
        embedding_time_ms=retrieved.embedding_ms,
        search_time_ms=retrieved.search_ms + (perf_counter() - started) * 1000,
    )


def evaluate_passages(
    passages: Sequence[Passage], *, gold: Sequence[str], model: str, route: str
) -> dict[str, Any]:
    """Record and return the metrics of the passages of an answer.

    Returns:
        ``hit_rate_at_k``: 1.0 if a gold chunk or document is among them, else 0.0; None without
        gold. ``mean_score_top1``, ``mean_score_topk``: of their scores; None without passages.
    """
    wanted = set(gold)
    scores = [passage.score for passage in passages]
    hit = any({p.chunk_id, p.document_id} & wanted for p in passages)
    metrics = {
        "hit_rate_at_k": float(hit) if wanted else None,
        "mean_score_top1": scores[0] if scores else None,
        "mean_score_topk": sum(scores) / len(scores) if scores else None,
    }
    labels = metric_labels(model=model, route=route)
    instruments = (hit_rate_at_k, mean_score_top1, mean_score_topk)
    for instrument, value in zip(instruments, metrics.values(), strict=True):
        if value is not None:
            instrument.record(value, labels)
    return metrics
