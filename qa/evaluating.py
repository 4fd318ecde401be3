"""Measure one retrieval, for ``eval=true``."""

from collections.abc import Sequence
from typing import Any

from corpus.telemetry import hit_rate_at_k, mean_score_top1, mean_score_topk, metric_labels
from qa.types import Passage


def evaluate_passages(
    passages: Sequence[Passage], *, gold: Sequence[str], model: str, route: str
) -> dict[str, Any]:
    """Return and record the metrics of the passages an answer was made from.

    Returns:
        ``hit_rate_at_k``: 1.0 if a gold chunk or document is among them, else 0.0; None without
        gold. ``mean_score_top1``, ``mean_score_topk``: of their scores; None without passages.
    """
    wanted = set(gold)
    scores = [passage.score for passage in passages]
    hit = any({p.chunk_id, p.document_id} & wanted for p in passages)
    found = {
        "hit_rate_at_k": float(hit) if wanted else None,
        "mean_score_top1": scores[0] if scores else None,
        "mean_score_topk": sum(scores) / len(scores) if scores else None,
    }
    labels = metric_labels(model=model, route=route)
    instruments = (hit_rate_at_k, mean_score_top1, mean_score_topk)
    for instrument, value in zip(instruments, found.values(), strict=True):
        if value is not None:
            instrument.record(value, labels)
    return found
