"""Chunking strategies: by sentences here, the others in one module each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from corpus.ingestion.chunkers.budget import ChunkBudget, LengthCounter, SpanPair
from corpus.ingestion.chunkers.recursive import split_recursively
from corpus.ingestion.chunkers.sections import (
    BudgetUnder,
    HeadingPath,
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


__all__ = ["ChunkingRule", "Span", "split_text"]


@dataclass(frozen=True, slots=True)
class ChunkingRule:
    """Chunking settings.

    Attributes:
        strategy: A name of ``CHUNKERS``.
        size: Maximum units of a chunk.
        overlap: Maximum units that a chunk shares with the previous one; at most half of
            ``size``.
        overlap_sentences: Sentences that it shares if ``overlap`` is 0, for strategies that split
            by sentences.
    """

    strategy: str
    size: int
    overlap: int = 0
    overlap_sentences: int = 1


def split_text(
    text: str,
    *,
    outline: Outline,
    rule: ChunkingRule,
    counter: LengthCounter,
    embedder_counter: LengthCounter,
    embedder_limit: Callable[[HeadingPath], int],
) -> list[Span]:
    """Split ``text`` into spans within the limits of ``rule`` and the embedder.

    Every character that is not white space is in a span.

    Args:
        counter: Counts units of the rule.
        embedder_limit: Returns the maximum embedder tokens of a text under these headings.

    Returns:
        Spans in order of start; none for a text of white space.
    """
    knows_sentences = rule.strategy not in {"recursive", "semantic"}

    def budget(path: HeadingPath) -> ChunkBudget:
        return ChunkBudget(
            counter=counter,
            size=rule.size,
            overlap=rule.overlap,
            overlap_sentences=rule.overlap_sentences if knows_sentences else 0,
            embedder_counter=embedder_counter,
            embedder_limit=embedder_limit(path),
        )

    return list(CHUNKERS[rule.strategy](text, outline=outline, budget=budget))
