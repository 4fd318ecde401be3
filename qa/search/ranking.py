"""Rank passages: fuse and blend scores, demote repeats. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

from qa.grounding.support.polarity import NEGATIONS
from qa.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qa.search.rerankers import Reranker


Key = TypeVar("Key", bound=Hashable)


def min_max(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scale scores to [0, 1]; equal ones are all 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


# If the best lexical hit stands out completely, BM25 has this multiple of its weight.
# How this and the next constants were chosen: docs/decisions/0004.
PROMINENCE_SCALE = 1.6
# Words of a question that one vector holds well, and what each further one adds to the lexical
# leg's share, up to the bound.
WORDS_IN_A_VECTOR = 6
SHARE_A_WORD = 0.08
MAX_FOR_LENGTH = 2.0
# What a chunk that is far off loses at most, where the nearest has 1: with no bound, the word that
# it alone has could not make up for it.
MIN_STRETCHED = -0.25


def fuse_scores(
    similarities: Mapping[Key, float],
    bm25: Mapping[Key, float],
    *,
    alpha: float,
    floor: float,
    word_count: int,
) -> dict[Key, float]:
    """Add similarity and BM25, which is weighted by how selective it is.

    If the BM25 scores fall off steeply, the words identify passages; if they are flat, the words
    are everywhere. A long question has more words than one vector can represent, so each word above
    ``WORDS_IN_A_VECTOR`` adds to the weight.

    Args:
        similarities: Of every candidate.
        bm25: Of every candidate; 0 without any of the words.
        alpha: Weight of the similarity, in [0, 1]; BM25 has the rest, scaled.
        floor: Similarity that scores 0.
        word_count: Words of the question that are in the collection.

    Returns:
        Score by key, at most 1; negative if less similar than ``floor`` and without any word.
    """
    if not similarities:
        return {}
    ranked = sorted(bm25.values(), reverse=True)
    best = ranked[0] or 1.0
    prominence = (ranked[0] - ranked[min(9, len(ranked) - 1)]) / best
    length = min(MAX_FOR_LENGTH, SHARE_A_WORD * max(0, word_count - WORDS_IN_A_VECTOR))
    weight = (1 - alpha) * (PROMINENCE_SCALE * prominence + length)
    spread = max(similarities.values()) - floor or 1.0
    stretched = {
        key: max(MIN_STRETCHED, (similarity - floor) / spread)
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
    """Return the keys of the highest scores; ties in order of their text."""
    return sorted(scores, key=lambda key: (-scores[key], str(key)))[:limit]


# Words in a row that two passages are compared by, and the share of them (Jaccard) from which on
# one repeats the other: a page stored twice does, neighbouring chunks do not (docs/decisions/0004).
SHINGLE_WORDS = 4
REPEATED_FROM = 0.8
# Words at its beginning and at its end that a copy must share, so that what differs is within it.
UNTOUCHED_WORDS = 2

_WORD = re.compile(r"\w+")


@runtime_checkable
class PassageReranker(Protocol):
    """A reranker that caches its representation of passages, by chunk."""

    def prepare(self, query: str) -> None:
        """Prepare for a query while its passages are retrieved."""
        ...

    def score_passages(self, query: str, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return shape (n,): ``score`` of their texts, as exact as the cache."""
        ...


def diversify_passages(passages: Sequence[Passage], *, per_document: int) -> list[Passage]:
    """Demote repeats, and passages beyond the limit per document.

    A copy with another value is no repeat. None is dropped, so that a small collection still fills
    the list.

    Returns:
        The passages, with scores lowered if needed so that they still descend.
    """
    first: list[Passage] = []
    behind: list[Passage] = []
    ranked_texts = _SeenTexts()
    count_of: Counter[str] = Counter()
    for passage in passages:
        text = _read_words(passage.text)
        if count_of[passage.document_id] >= per_document or ranked_texts.repeats(text):
            behind.append(passage)
            continue
        first.append(passage)
        ranked_texts.add(text)
        count_of[passage.document_id] += 1
    lowest = min((passage.score for passage in first), default=1.0)
    return [*first, *(replace(each, score=min(each.score, lowest)) for each in behind)]


class _Words(NamedTuple):
    """The words of a text in lower case, and the hashes of its shingles.

    Attributes:
        min_hashes: The least hashes, as many as ensure that any repeat of this text has one of
            them.
    """

    words: Sequence[str]
    shingles: frozenset[int]
    min_hashes: Sequence[int]


# The same passages are spread before and after they are reranked. Enough for two searches at once,
# of at most twice ``PKB_CANDIDATE_COUNT`` each: a text of 800 characters takes 18.5 kB here, and
# 37 us to be read again (docs/decisions/0014).
@lru_cache(maxsize=256)
def _read_words(text: str) -> _Words:
    words = _WORD.findall(text.lower())
    count = max(1, len(words) - SHINGLE_WORDS + 1)
    starts = (words[at : at + SHINGLE_WORDS] for at in range(count))
    shingles = frozenset(hash(tuple(shingle)) for shingle in starts)
    min_hashes = len(shingles) - int(REPEATED_FROM * len(shingles)) + 1
    return _Words(words, shingles, sorted(shingles)[:min_hashes])


class _SeenTexts:
    """Texts ranked so far, as words, indexed by their min-hashes."""

    def __init__(self) -> None:
        self._having: defaultdict[int, list[_Words]] = defaultdict(list)

    def add(self, text: _Words) -> None:
        for shingle in text.min_hashes:
            self._having[shingle].append(text)

    def repeats(self, text: _Words) -> bool:
        met = {id(other): other for each in text.min_hashes for other in self._having.get(each, ())}
        return any(_is_repeat(text, other) for other in met.values())


def _is_repeat(text: _Words, other: _Words) -> bool:
    shared = len(text.shingles & other.shingles)
    # Shared by all that either has, |A| + |B| - |A and B|.
    either = len(text.shingles) + len(other.shingles) - shared
    return shared >= REPEATED_FROM * either and not _is_altered(text.words, other.words)


def _is_altered(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a copy has other words within it, or a negation more or less.

    Its beginning and end may differ.
    """
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    for tag, start, end, other_start, other_end in blocks:
        is_within = start >= UNTOUCHED_WORDS and len(words) - end >= UNTOUCHED_WORDS
        moved = {*words[start:end], *others[other_start:other_end]}
        if is_within and (tag == "replace" or (tag != "equal" and moved & NEGATIONS)):
            return True
    return False


def rerank_passages(
    query: str,
    passages: Sequence[Passage],
    *,
    reranker: Reranker,
    weight: float,
    count: int,
    limit: int,
    per_document: int,
) -> list[Passage]:
    """Return the best ``limit`` passages, their scores in [0, 1] and descending.

    The first ``count`` are reranked; the reranker's score is blended with their own, since the
    reranker alone was worse than the fused order and the blend was not (docs/decisions/0004). The
    reranker's scores are scaled to [0, 1]; the passages' own keep their distances, so the reranker
    decides among those that are close.

    The others follow in their order. Repeats, and passages beyond the limit per document, come
    last.
    """
    passages = diversify_passages(passages, per_document=per_document)
    first = passages[:count]
    if isinstance(reranker, PassageReranker):
        raw = reranker.score_passages(query, first)
    else:
        raw = reranker.score(query, [passage.as_ranked for passage in first])
    judged = {
        passage.chunk_id: replace(passage, relevance=float(each))
        for passage, each in zip(first, raw, strict=True)
    }
    relevance = min_max({key: passage.relevance or 0.0 for key, passage in judged.items()})
    blended = {
        key: weight * relevance[key] + (1 - weight) * passage.score
        for key, passage in judged.items()
    }
    ordered = [replace(judged[key], score=blended[key]) for key in best_first(blended, count)]
    lowest = min(blended.values(), default=1.0)
    others = [replace(other, score=min(other.score, lowest)) for other in passages[count:]]
    return diversify_passages([*ordered, *others], per_document=per_document)[:limit]
