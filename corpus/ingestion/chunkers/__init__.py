"""Chunking strategies: by sentences here, the others in one module each."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from corpus.ingestion.chunkers.budget import ChunkBudget, SpanPair
from corpus.ingestion.chunkers.recursive import split_recursively
from corpus.ingestion.chunkers.sections import (
    BudgetUnder,
    Span,
    find_blocks,
    find_sections,
    find_units,
    pack,
)
from corpus.ingestion.chunkers.semantic import split_semantically
from corpus.ingestion.chunkers.structure import split_structure
from corpus.ingestion.normal_form import Outline


class Chunker(Protocol):
    """Split a text into spans within the budget, in order; every visible character is in one."""

    def __call__(self, text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
        """Split ``text``; ``budget`` returns the budget of a chunk under the given headings."""
        ...


def with_headings(split: Callable[[str, ChunkBudget], Iterator[SpanPair]]) -> Chunker:
    """Return a chunker that adds headings and pages to spans which do not depend on them.

    All spans have the smallest budget of a section, that of the longest headings.
    """

    def split_text(text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
        sections = find_sections(text, outline)
        budgets = (budget(section.path) for section in sections)
        for start, end in split(text, min(budgets, key=lambda each: each.embedder_limit)):
            at = bisect_right(sections, start, key=lambda section: section.start) - 1
            above = sections[max(at, 0)]
            yield Span(start, end, above.path, above.level, outline.page_at(start))

    return split_text


@with_headings
def split_sentences(text: str, budget: ChunkBudget) -> Iterator[SpanPair]:
    """Pack sentences into chunks, across paragraphs and sections if whole paragraphs fit.

    Lines of tables and listings count as sentences. A sentence that does not fit is split between
    words.
    """
    units: list[SpanPair] = []
    block_ends: dict[int, int] = {}
    for block in find_blocks(text, 0, len(text)):
        of_block = list(find_units(text, block, budget))
        block_ends[of_block[0][0]] = block.end
        units += of_block
    boundaries = [start for start, _ in units]
    return pack(text, units, boundaries=boundaries, block_ends=block_ends, budget=budget)


def split_by_kind(text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
    """Split by structure if the text has headings or labels, else by sentences."""
    split = split_structure if outline.headings or outline.labels else split_sentences
    return split(text, outline=outline, budget=budget)


CHUNKERS: Mapping[str, Chunker] = {
    "auto": split_by_kind,
    "sentence": split_sentences,
    "structure": split_structure,
    "recursive": with_headings(split_recursively),
    "semantic": with_headings(split_semantically),
}
