"""Whole paragraphs, tables and listings, never across a heading of level 1 to 3."""

from collections.abc import Iterator

from corpus.ingestion.chunkers.pack import find_units, pack
from corpus.ingestion.chunkers.rulers import Room, SpanPair
from corpus.ingestion.chunkers.sections import (
    RoomUnder,
    Section,
    Span,
    find_blocks,
    find_sections,
    merge_small_sections,
    page_at,
)
from corpus.ingestion.normal_form import Outline


def split_structure(text: str, *, outline: Outline, room: RoomUnder) -> Iterator[Span]:
    """Pack the blocks of each section; a block that does not fit is cut between sentences.

    Small sections are merged first (``merge_small_sections``). Tables and listings are cut
    between lines, and only where they do not fit. A heading stays with what it stands above.
    """
    headings = frozenset(heading.start for heading in outline.headings)
    ruler = room(()).embedder_ruler
    for section in merge_small_sections(find_sections(text, outline), ruler):
        for start, end in _split_section(text, section, headings, room(section.path)):
            yield Span(start, end, section.path, section.level, page_at(outline, start))


def _split_section(
    text: str, section: Section, headings: frozenset[int], room: Room
) -> Iterator[SpanPair]:
    pieces: list[SpanPair] = []
    block_ends: dict[int, int] = {}
    boundaries: list[int] = []
    heading_start = -1
    for block in find_blocks(text, section.start, section.end):
        units = list(find_units(text, block, room))
        boundaries += [start for start, _ in units]
        found = [(block.start, block.end)] if room.fits(block.start, block.end) else units
        if heading_start >= 0 and room.fits(heading_start, found[0][1]):
            pieces.pop()
            found[0] = heading_start, found[0][1]
        pieces += found
        block_ends[found[0][0]] = block.end
        heading_start = found[-1][0] if block.start in headings else -1
    return pack(text, pieces, boundaries=boundaries, block_ends=block_ends, room=room)
