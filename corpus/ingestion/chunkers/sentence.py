"""Split a text into windows of whole sentences."""

from collections.abc import Iterator

from corpus.ingestion.chunkers.budget import SpanPair
from corpus.ingestion.chunkers.sections import (
    BudgetUnder,
    Span,
    attach_headings,
    find_blocks,
    find_sections,
    find_units,
    pack,
    smallest_budget,
)
from corpus.ingestion.normal_form import Outline


def split_sentences(text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
    """Pack sentences into chunks, across paragraphs and sections if whole paragraphs fit.

    Lines of tables and listings count as sentences. A sentence that does not fit is split between
    words.
    """
    sections = find_sections(text, outline)
    tightest = smallest_budget(sections, budget)
    units: list[SpanPair] = []
    block_ends: dict[int, int] = {}
    for block in find_blocks(text, 0, len(text)):
        found = list(find_units(text, block, tightest))
        block_ends[found[0][0]] = block.end
        units += found
    boundaries = [start for start, _ in units]
    pieces = pack(text, units, boundaries=boundaries, block_ends=block_ends, budget=tightest)
    return attach_headings(pieces, sections, outline)
