"""Split a text by its layout and punctuation with semchunk."""

import re
from collections.abc import Iterator
from typing import cast

from corpus.ingestion.chunkers.budget import MAX_CHARS_PER_TOKEN, ChunkBudget, SpanPair
from corpus.ingestion.chunkers.sections import cut_hard, widen
from corpus.sentences import trim_spans

# semchunk recurses once for each different length of a run of white space.
_LONG_GAP = re.compile(r"\s{64,}")


def split_semantically(text: str, budget: ChunkBudget) -> Iterator[SpanPair]:
    """Split by semchunk into pieces that leave room for the overlap, then extend them."""
    inner = budget.without_overlap
    pieces = [
        piece
        for start, end in _split(text, inner)
        for span in trim_spans(text, [(start, end)])
        for piece in cut_hard(text, span, inner)
    ]
    return widen(text, pieces, budget=budget)


def _split(text: str, budget: ChunkBudget) -> Iterator[SpanPair]:
    from semchunk.semchunk import chunk  # noqa: PLC0415  (only for collections with this strategy)

    longest = budget.size * MAX_CHARS_PER_TOKEN

    def count(piece: str) -> int:
        return budget.size + 1 if len(piece) > longest else budget.count_text(piece)

    for start, end in _between_gaps(text):
        result = chunk(text[start:end], budget.size, count, memoize=False, offsets=True)
        _, offsets = cast("tuple[list[str], list[SpanPair]]", result)
        yield from ((start + first, start + last) for first, last in offsets)


def _between_gaps(text: str) -> Iterator[SpanPair]:
    start = 0
    for gap in _LONG_GAP.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)
