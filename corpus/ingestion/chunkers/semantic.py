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
    from semchunk.semchunk import chunk  # noqa: PLC0415  (only for collections with this strategy)

    inner = budget.without_overlap
    longest = inner.size * MAX_CHARS_PER_TOKEN

    def count(piece: str) -> int:
        return inner.size + 1 if len(piece) > longest else inner.count_text(piece)

    pieces: list[SpanPair] = []
    ends = [0, *(at for gap in _LONG_GAP.finditer(text) for at in gap.span()), len(text)]
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        result = chunk(text[start:end], inner.size, count, memoize=False, offsets=True)
        _, offsets = cast("tuple[list[str], list[SpanPair]]", result)
        spans = [(start + first, start + last) for first, last in offsets]
        for span in trim_spans(text, spans):
            pieces += cut_hard(text, span, inner)
    return widen(text, pieces, budget=budget)
