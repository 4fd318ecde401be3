"""Split at the coarsest separator that makes the pieces small enough."""

from collections.abc import Iterator

from corpus.ingestion.chunkers.rulers import Room, SpanPair
from corpus.ingestion.chunkers.sections import (
    RoomUnder,
    Span,
    cut_hard,
    find_sections,
    pack,
    place_spans,
    tightest_room,
)
from corpus.ingestion.normal_form import Outline
from corpus.sentences import trim_spans

# From coarse to fine; after the last one any place will do.
SEPARATORS = ("\n\n", "\n", ". ", " ")


def split_recursively(text: str, *, outline: Outline, room: RoomUnder) -> Iterator[Span]:
    """Split at empty lines, what is too long at line ends, then sentences, words, anywhere.

    The pieces are then packed as full as they go.
    """
    sections = find_sections(text, outline)
    tightest = tightest_room(sections, room)
    pieces = list(_split(text, (0, len(text)), tightest))
    packed = pack(text, pieces, boundaries=[start for start, _ in pieces], room=tightest)
    return place_spans(packed, sections, outline)


def _split(text: str, span: SpanPair, room: Room, depth: int = 0) -> Iterator[SpanPair]:
    for start, end in trim_spans(text, [span]):
        if room.fits(start, end):
            yield start, end
        elif depth == len(SEPARATORS):
            yield from cut_hard(text, (start, end), room.without_overlap)
        else:
            for piece in _between(text, (start, end), SEPARATORS[depth]):
                yield from _split(text, piece, room, depth + 1)


def _between(text: str, span: SpanPair, separator: str) -> Iterator[SpanPair]:
    """Cut after each separator."""
    start, end = span
    while (found := text.find(separator, start, end)) >= 0:
        yield start, found + len(separator)
        start = found + len(separator)
    yield start, end
