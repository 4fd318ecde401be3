"""Order passages: by the reranker and the fused score together, repeats and crowds behind."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qa.search.fusion import best_first, min_max
from qa.types import Passage

if TYPE_CHECKING:
    from qa.search.rerankers import Reranker

# Words in a row that two passages are compared by, and the share of them (Jaccard) from which on
# one repeats the other: a page stored twice does, neighbouring chunks do not (docs/decisions/0017).
SHINGLE_WORDS = 4
REPEATED_FROM = 0.8

_WORD = re.compile(r"\w+")


def spread_passages(passages: Sequence[Passage], *, per_document: int) -> list[Passage]:
    """Put repeated passages, and those over a document's share, behind the others.

    None is lost, so that a small collection still fills the list.

    Returns:
        The passages, their scores lowered where needed so that they still descend.
    """
    first: list[Passage] = []
    behind: list[Passage] = []
    seen = _Seen()
    count_of: Counter[str] = Counter()
    for passage in passages:
        shingles = _shingles(passage.text)
        if count_of[passage.document_id] >= per_document or seen.repeats(shingles):
            behind.append(passage)
            continue
        first.append(passage)
        seen.add(shingles)
        count_of[passage.document_id] += 1
    least = min((passage.score for passage in first), default=1.0)
    return [*first, *(replace(each, score=min(each.score, least)) for each in behind)]


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    count = max(1, len(words) - SHINGLE_WORDS + 1)
    return frozenset(tuple(words[at : at + SHINGLE_WORDS]) for at in range(count))


class _Seen:
    """Texts that were told, looked up by their shingles."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._having: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)

    def add(self, shingles: frozenset[tuple[str, ...]]) -> None:
        for shingle in shingles:
            self._having[shingle].append(len(self._sizes))
        self._sizes.append(len(shingles))

    def repeats(self, shingles: frozenset[tuple[str, ...]]) -> bool:
        shared = Counter(each for shingle in shingles for each in self._having.get(shingle, ()))
        # Shared by all that either has, |A| + |B| - |A and B|.
        return any(
            count >= REPEATED_FROM * (len(shingles) + self._sizes[each] - count)
            for each, count in shared.items()
        )


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

    The first ``count`` are judged and ordered by the judgement blended with their own scores: a
    reranker alone ended below the fused order, the blend did not (docs/decisions/0004). The
    judgements are stretched over [0, 1] first; the passages' own scores keep their distances, so
    that the judgement decides where those lie close together.

    The others follow in the order they have. Repeated passages, and those over a document's
    share, come last.
    """
    passages = spread_passages(passages, per_document=per_document)
    judged = _judge(query, passages[:count], reranker)
    relevance = min_max({key: passage.relevance or 0.0 for key, passage in judged.items()})
    blended = {
        key: weight * relevance[key] + (1 - weight) * passage.score
        for key, passage in judged.items()
    }
    ordered = [replace(judged[key], score=blended[key]) for key in best_first(blended, count)]
    least = min(blended.values(), default=1.0)
    others = [replace(other, score=min(other.score, least)) for other in passages[count:]]
    return spread_passages([*ordered, *others], per_document=per_document)[:limit]


def _judge(query: str, passages: Sequence[Passage], reranker: Reranker) -> dict[str, Passage]:
    """The passages by chunk, with their relevance."""
    relevance = reranker.score(query, [passage.as_ranked for passage in passages])
    return {
        passage.chunk_id: replace(passage, relevance=float(raw))
        for passage, raw in zip(passages, relevance, strict=True)
    }
