"""Count tokens or characters of slices of a text; check them against a chunk's budget."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

SpanPair = tuple[int, int]
# A very long word (base64, minified code) counts as one token for so many characters.
MAX_CHARS_PER_TOKEN = 12
# A shorter piece is joined with the next one.
SMALL_TOKENS = 32


class LengthCounter(Protocol):
    """Count the units of slices of one text."""

    def count(self, start: int, end: int) -> int:
        """Return the length of ``start:end``."""
        ...

    def count_text(self, text: str) -> int:
        """Return the length of a text on its own."""
        ...

    def cut(self, start: int, end: int, limit: int) -> int:
        """Return the greatest end in ``start:end`` that leaves at most ``limit`` units."""
        ...

    def back(self, start: int, end: int, limit: int) -> int:
        """Return the least start in ``start:end`` that leaves at most ``limit`` units."""
        ...


class CharacterCounter:
    """Count characters."""

    def count(self, start: int, end: int) -> int:
        return end - start

    def count_text(self, text: str) -> int:
        return len(text)

    def cut(self, start: int, end: int, limit: int) -> int:
        return min(end, start + max(1, limit))

    def back(self, start: int, end: int, limit: int) -> int:
        return max(start, end - limit)


class TokenCounter:
    """Count tokens of slices of one text, from the spans of all its tokens."""

    def __init__(
        self, spans: Sequence[SpanPair], count_text: Callable[[str], int] | None = None
    ) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]
        self._count_text = count_text or (lambda text: len(text.split()))

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens that overlap ``start:end``."""
        tokens = bisect_left(self._starts, end) - bisect_right(self._ends, start)
        return max(tokens, _min_tokens(end - start))

    def count_text(self, text: str) -> int:
        return max(self._count_text(text), _min_tokens(len(text)))

    def cut(self, start: int, end: int, limit: int) -> int:
        """Return the greatest end in ``start:end`` that leaves at most ``limit`` tokens."""
        last = bisect_right(self._ends, start) + limit
        by_tokens = self._starts[last] if last < len(self._starts) else end
        cut = max(start + 1, min(end, by_tokens, start + limit * MAX_CHARS_PER_TOKEN))
        while cut > start + 1 and self.count(start, cut) > limit:
            cut -= 1  # tokens that share a character
        return cut

    def back(self, start: int, end: int, limit: int) -> int:
        """Return the least start in ``start:end`` that leaves at most ``limit`` tokens."""
        first = bisect_left(self._starts, end) - limit
        by_tokens = end
        if limit > 0:
            by_tokens = self._ends[first - 1] if first > 0 else start
        cut = min(end, max(start, by_tokens, end - limit * MAX_CHARS_PER_TOKEN))
        while cut < end and self.count(cut, end) > limit:
            cut += 1
        return cut


def _min_tokens(chars: int) -> int:
    return -(-chars // MAX_CHARS_PER_TOKEN) if chars > 0 else 0


@dataclass(frozen=True, slots=True)
class ChunkBudget:
    """Maximum size and overlap of a chunk.

    Attributes:
        counter: Counts the configured unit.
        size: Maximum units of a chunk.
        overlap: Maximum units that neighbors share; at most half of ``size``.
        overlap_sentences: Sentences that neighbors share if ``overlap`` is 0.
        embedder_counter: Counts tokens of the embedder.
        embedder_limit: Maximum embedder tokens of a chunk.
    """

    counter: LengthCounter
    size: int
    overlap: int
    overlap_sentences: int
    embedder_counter: LengthCounter
    embedder_limit: int

    def fits(self, start: int, end: int) -> bool:
        return (
            self.counter.count(start, end) <= self.size
            and self.embedder_counter.count(start, end) <= self.embedder_limit
        )

    def is_worth_a_chunk(self, start: int, end: int) -> bool:
        return self.embedder_counter.count(start, end) >= SMALL_TOKENS

    def cut(self, start: int, end: int) -> int:
        """Return the greatest end in ``start:end`` that fits, at least one character."""
        return min(
            self.counter.cut(start, end, self.size),
            self.embedder_counter.cut(start, end, self.embedder_limit),
        )

    def back(self, start: int, end: int) -> int:
        """Return the least start such that the text up to ``end`` fits."""
        return max(
            self.counter.back(start, end, self.size),
            self.embedder_counter.back(start, end, self.embedder_limit),
        )

    def overlap_back(self, start: int, end: int) -> int:
        """Return the least start of the text up to ``end`` that the next chunk may share."""
        return max(
            self.counter.back(start, end, self.overlap),
            self.embedder_counter.back(start, end, self.embedder_limit // 2),
        )

    def count_text(self, text: str) -> int:
        """Return the length of a text in units, scaled up if the embedder limit is tighter."""
        units = self.counter.count_text(text)
        if self.embedder_counter is self.counter:
            return -(-units * self.size // min(self.size, self.embedder_limit))
        tokens = self.embedder_counter.count_text(text)
        return max(units, -(-tokens * self.size // self.embedder_limit))

    @property
    def without_overlap(self) -> "ChunkBudget":
        """Return the budget without the overlap."""
        tokens = self.embedder_limit
        if self.overlap:
            shared = self.overlap if self.embedder_counter is self.counter else tokens
            tokens -= min(shared, tokens // 2)
        return replace(
            self,
            size=self.size - self.overlap,
            overlap=0,
            overlap_sentences=0,
            embedder_limit=tokens,
        )
