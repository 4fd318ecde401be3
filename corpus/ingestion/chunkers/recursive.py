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
            separator, begin = SEPARATORS[depth], start
            while (at := text.find(separator, begin, end)) >= 0:
                yield from _split(text, (begin, at + len(separator)), budget, depth + 1)
                begin = at + len(separator)
            yield from _split(text, (begin, end), budget, depth + 1)
