"""Split at the coarsest separator that makes the pieces small enough."""

from collections.abc import Iterator

from corpus.ingestion.chunkers.budget import ChunkBudget, SpanPair
from corpus.ingestion.chunkers.sections import cut_hard, pack
from corpus.sentences import trim_spans

# From coarse to fine; after the last one, split anywhere.
SEPARATORS = ("\n\n", "\n", ". ", " ")


def split_recursively(text: str, budget: ChunkBudget) -> Iterator[SpanPair]:
    """Split at empty lines; split longer pieces at lines, sentences, words, then anywhere.

    The pieces are then packed into full chunks.
    """
    pieces = list(_split(text, (0, len(text)), budget))
    return pack(text, pieces, boundaries=[start for start, _ in pieces], budget=budget)


def _split(text: str, span: SpanPair, budget: ChunkBudget, depth: int = 0) -> Iterator[SpanPair]:
    for start, end in trim_spans(text, [span]):
        if budget.fits(start, end):
            yield start, end
        elif depth == len(SEPARATORS):
            yield from cut_hard(text, (start, end), budget.without_overlap)
        else:
            for piece in _between(text, (start, end), SEPARATORS[depth]):
                yield from _split(text, piece, budget, depth + 1)


def _between(text: str, span: SpanPair, separator: str) -> Iterator[SpanPair]:
    """Split after each separator."""
    start, end = span
    while (at := text.find(separator, start, end)) >= 0:
        yield start, at + len(separator)
        start = at + len(separator)
    yield start, end
