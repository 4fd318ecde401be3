"""Cut a text into chunks; each way to cut is a file here, behind one signature."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from corpus.ingestion.chunkers.budget import ChunkBudget, LengthCounter
from corpus.ingestion.chunkers.recursive import split_recursively
from corpus.ingestion.chunkers.sections import BudgetUnder, HeadingPath, Span
from corpus.ingestion.chunkers.semantic import split_semantically
from corpus.ingestion.chunkers.sentence import split_sentences
from corpus.ingestion.chunkers.structure import split_structure
from corpus.ingestion.normal_form import Outline


class Chunker(Protocol):
    """Cuts a text into spans that fit, in order; every visible character is in one."""

    def __call__(self, text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
        """Cut ``text``; ``budget`` tells what a chunk under given headings may hold."""
        ...


def split_by_kind(text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
    """Keep the structure of a text that has headings or labels; make sentence windows of others."""
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
    """How to cut.

    Attributes:
        strategy: A name of ``CHUNKERS``.
        size: Most units of a chunk.
        overlap: Most units that a chunk shares with the one before it in the same passage; at
            most half of ``size``.
        overlap_sentences: Sentences that it shares where ``overlap`` is 0; for the strategies
            that know sentences.
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
    """Cut ``text`` into spans that neither ``rule`` nor the embedder finds too long.

    Every character that is no white space is in a span.

    Args:
        counter: Measures in the unit of the rule.
        embedder_limit: Most tokens of the embedder that text under these headings may have.

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
