"""Windows of whole sentences."""

from collections.abc import Iterator

from corpus.ingestion.chunkers.packing import find_units, pack
from corpus.ingestion.normalizing import Outline
from corpus.ingestion.sections import (
    RoomUnder,
    Span,
    find_blocks,
    find_sections,
    place_spans,
    tightest_room,
)


def split_sentences(text: str, *, outline: Outline, room: RoomUnder) -> Iterator[Span]:
    """Pack sentences as full as they go, over the ends of paragraphs and sections.

    Lines of tables and listings count as sentences; a sentence that does not fit is cut
    between words.
    """
    sections = find_sections(text, outline)
    tightest = tightest_room(sections, room)
    units = [
        unit
        for block in find_blocks(text, 0, len(text))
        for unit in find_units(text, block, tightest)
    ]
    pieces = pack(text, units, boundaries=[start for start, _ in units], room=tightest)
    return place_spans(pieces, sections, outline)
