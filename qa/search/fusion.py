"""Merge ranked lists into one."""

from collections.abc import Hashable, Iterable, Mapping
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


# A lexical leg whose best hit stands out wholly has so many times its nominal share.
# How this and the next constants were chosen: docs/decisions/0004.
PROMINENCE_SCALE = 1.6
# Words of a question that one vector holds well, and what each further one adds to the lexical
# leg's share, up to the bound.
WORDS_IN_A_VECTOR = 6
SHARE_A_WORD = 0.08
MOST_FOR_LENGTH = 2.0
# What a chunk that is far off loses at most, where the nearest has 1: with no bound, the word that
# it alone has could not make up for it.
LEAST_STRETCHED = -0.25


def fuse_legs(
    similarities: Mapping[Key, float],
    bm25: Mapping[Key, float],
    *,
    alpha: float,
    floor: float,
    word_count: int,
) -> dict[Key, float]:
    """Add up similarity and BM25, the latter weighted by how much it has to say.

    A list of words that ends far below its head says which passages are meant; a flat one says
    that the words are everywhere. So the weight is the question's own. A long question has more
    words than its one vector tells apart, so each above ``WORDS_IN_A_VECTOR`` adds to the weight.

    Args:
        similarities: Of every candidate, by the vector leg.
        bm25: Of every candidate, by the lexical leg; 0 where it has none of the words.
        alpha: Weight of the vector leg, in [0, 1]; the lexical leg has the rest, scaled.
        floor: Similarity that counts 0.
        word_count: Words of the question that are in the collection.

    Returns:
        Score by key, at most 1, below 0 for what is less similar than ``floor`` and has no words.
    """
    if not similarities:
        return {}
    ranked = sorted(bm25.values(), reverse=True)
    best = ranked[0] or 1.0
    prominence = (ranked[0] - ranked[min(9, len(ranked) - 1)]) / best
    length = min(MOST_FOR_LENGTH, SHARE_A_WORD * max(0, word_count - WORDS_IN_A_VECTOR))
    weight = (1 - alpha) * (PROMINENCE_SCALE * prominence + length)
    spread = max(similarities.values()) - floor or 1.0
    stretched = {
        key: max(LEAST_STRETCHED, (similarity - floor) / spread)
        for key, similarity in similarities.items()
    }
    return {
        key: (alpha * stretched[key] + weight * (bm25[key] / best)) / (alpha + weight or 1.0)
        for key in similarities
    }


def keep_best(lists: Iterable[Mapping[Key, float]]) -> dict[Key, float]:
    """Return the greatest score of each key over all lists."""
    best: dict[Key, float] = {}
    for scores in lists:
        for key, score in scores.items():
            best[key] = max(score, best.get(key, score))
    return best


def best_first(scores: Mapping[Key, float], limit: int) -> list[Key]:
    """Return the keys of the greatest scores; equal ones in the order of their text."""
    return sorted(scores, key=lambda key: (-scores[key], str(key)))[:limit]
