"""Let one document, or one text told twice, not fill the list."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from qa.types import Passage

# Words in a row that two passages are compared by, and the share of them (Jaccard) from which on
# one repeats the other: a page stored twice with another footer has .9, neighbouring chunks that
# share a sentence have .2 at most.
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
        return any(
            count >= REPEATED_FROM * (len(shingles) + self._sizes[each] - count)
            for each, count in shared.items()
        )
