"""Order passages by the reranker's judgement and the fused score together."""

from collections.abc import Sequence
from dataclasses import replace

from qa.fusion import best_first, weighted_sum
from qa.rerankers import Reranker
from qa.types import Passage


def rerank_passages(
    query: str, passages: Sequence[Passage], *, reranker: Reranker, weight: float, limit: int
) -> list[Passage]:
    """Return the best ``limit`` passages, their scores blended and in [0, 1].

    A reranker alone ended below the fused order on several data sets, the blend did not.
    """
    relevance = reranker.score(query, [_as_read(passage) for passage in passages])
    judged = {
        passage.chunk_id: replace(passage, relevance=float(raw))
        for passage, raw in zip(passages, relevance, strict=True)
    }
    blended = weighted_sum(
        [
            (weight, {key: passage.relevance or 0.0 for key, passage in judged.items()}),
            (1 - weight, {key: passage.score for key, passage in judged.items()}),
        ]
    )
    return [replace(judged[key], score=blended[key]) for key in best_first(blended, limit)]


def _as_read(passage: Passage) -> str:
    """A passage as a reader meets it: under its title."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
