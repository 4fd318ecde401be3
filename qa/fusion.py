"""Merge ranked lists into one."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def min_max(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Stretch scores so that the least is 0 and the greatest 1; equal ones are all 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def weighted_sum(legs: Iterable[tuple[float, Mapping[Key, float]]]) -> dict[Key, float]:
    """Add up ``weight * min_max(scores)`` of each leg; what a leg lacks counts 0 there.

    Returns:
        Score by key, in [0, 1] where the weights add up to 1.
    """
    total: defaultdict[Key, float] = defaultdict(float)
    for weight, scores in legs:
        for key, score in min_max(scores).items():
            total[key] += weight * score
    return dict(total)


def reciprocal_rank_fusion(rankings: Iterable[Sequence[Key]], *, k: int = 60) -> dict[Key, float]:
    """Score each key by the sum of 1 / (k + rank), rank 1 for the best.

    Args:
        rankings: Lists of keys, best first; a key at most once in each.
        k: Damps the top ranks.

    Returns:
        Score by key, in (0, number of rankings / (k + 1)].

    Source: Cormack, Clarke and Buettcher, SIGIR 2009, which set k to 60.
    """
    scores: defaultdict[Key, float] = defaultdict(float)
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] += 1 / (k + rank)
    return dict(scores)


def best_first(scores: Mapping[Key, float], limit: int) -> list[Key]:
    """Return the keys of the greatest scores; equal ones in the order of their text."""
    return sorted(scores, key=lambda key: (-scores[key], str(key)))[:limit]
