"""Ways to cut a text, one file each, behind one signature."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from corpus.ingestion.chunkers.recursive import split_recursively
from corpus.ingestion.chunkers.semantic import split_semantically
from corpus.ingestion.chunkers.sentence import split_sentences
from corpus.ingestion.chunkers.structure import split_structure
from corpus.ingestion.normalizing import Outline
from corpus.ingestion.sections import RoomUnder, Span


class Chunker(Protocol):
    """Cuts a text into spans that fit, in order; every visible character is in one."""

    def __call__(self, text: str, *, outline: Outline, room: RoomUnder) -> Iterator[Span]:
        """Cut ``text``; ``room`` tells what a chunk under given headings may hold."""
        ...


def split_by_kind(text: str, *, outline: Outline, room: RoomUnder) -> Iterator[Span]:
    """Keep the structure of a text that has headings; make sentence windows of plain text."""
    split = split_structure if outline.headings else split_sentences
    return split(text, outline=outline, room=room)


CHUNKERS: Mapping[str, Chunker] = {
    "auto": split_by_kind,
    "sentence": split_sentences,
    "structure": split_structure,
    "recursive": split_recursively,
    "semantic": split_semantically,
}
