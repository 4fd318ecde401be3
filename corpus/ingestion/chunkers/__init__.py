"""Chunking strategies: by sentences here, the others in one module each."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from corpus.ingestion.chunkers.budget import SpanPair
from corpus.ingestion.chunkers.recursive import split_recursively
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
from corpus.ingestion.chunkers.semantic import split_semantically
from corpus.ingestion.chunkers.structure import split_structure
from corpus.ingestion.normal_form import Outline


class Chunker(Protocol):
    """Split a text into spans within the budget, in order; every visible character is in one."""

    def __call__(self, text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
        """Split ``text``; ``budget`` returns the budget of a chunk under the given headings."""
        ...


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
        of_block = list(find_units(text, block, tightest))
        block_ends[of_block[0][0]] = block.end
        units += of_block
    boundaries = [start for start, _ in units]
    pieces = pack(text, units, boundaries=boundaries, block_ends=block_ends, budget=tightest)
    return attach_headings(pieces, sections, outline)


def split_by_kind(text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
    """Split by structure if the text has headings or labels, else by sentences."""
    split = split_structure if outline.headings or outline.labels else split_sentences
    return split(text, outline=outline, budget=budget)


CHUNKERS: Mapping[str, Chunker] = {
    "auto": split_by_kind,
    "sentence": split_sentences,
    "structure": split_structure,
    "recursive": split_recursively,
    "semantic": split_semantically,
}
