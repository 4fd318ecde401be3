"""Cut a text into chunks by a collection's rule.

Nothing here knows a model: lengths are counted by the rulers that the caller made.
"""

from collections.abc import Callable
from dataclasses import dataclass

from corpus.ingestion.chunkers import CHUNKERS
from corpus.ingestion.measuring import Room, Ruler
from corpus.ingestion.normalizing import Outline
from corpus.ingestion.sections import HeadingPath, Span

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
    ruler: Ruler,
    embedder_ruler: Ruler,
    embedder_limit: Callable[[HeadingPath], int],
) -> list[Span]:
    """Cut ``text`` into spans that neither ``rule`` nor the embedder finds too long.

    Every character that is no white space is in a span.

    Args:
        ruler: Measures in the unit of the rule.
        embedder_limit: Most tokens of the embedder that text under these headings may have.

    Returns:
        Spans in order of start; none for a text of white space.
    """
    knows_sentences = rule.strategy not in {"recursive", "semantic"}

    def room(path: HeadingPath) -> Room:
        return Room(
            ruler=ruler,
            size=rule.size,
            overlap=rule.overlap,
            overlap_sentences=rule.overlap_sentences if knows_sentences else 0,
            embedder_ruler=embedder_ruler,
            embedder_limit=embedder_limit(path),
        )

    return list(CHUNKERS[rule.strategy](text, outline=outline, room=room))
