"""Join small pieces of a text into chunks that are as full as they may be."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from corpus.ingestion.chunkers.rulers import Room, SpanPair
from corpus.ingestion.chunkers.sections import TextBlock
from corpus.sentences import sentence_spans, trim_spans

_WORD_START = re.compile(r"(?<=\s)\S")
_LINE = re.compile(r"[^\n]+")


def pack(
    text: str,
    pieces: Sequence[SpanPair],
    *,
    boundaries: Sequence[int],
    block_ends: Mapping[int, int] = MappingProxyType({}),
    room: Room,
) -> Iterator[SpanPair]:
    """Join neighbouring pieces while they fit; each chunk begins inside the one before it.

    It begins up to ``room.overlap`` units before the end of that one, at a boundary where one
    is near enough, else at a word, and only as far back as its first new piece still fits.

    Args:
        pieces: In order, each of which fits.
        boundaries: Where sentences begin, in order.
        block_ends: The end of each block, a paragraph say, by its beginning. A block that does
            not fit as a whole begins a chunk, so that a change in one block leaves the chunks
            of those behind it as they are; no sentence is shared there.
    """
    begin, last_end = -1, -1
    for start, end in pieces:
        if begin < 0:
            begin = start
        elif not room.fits(begin, block_ends.get(start, end)) and (
            not room.fits(begin, end) or room.is_worth_a_chunk(begin, last_end)
        ):
            yield begin, last_end
            begin = (
                start
                if start in block_ends and not room.overlap
                else _begin_inside(text, (begin, last_end), (start, end), boundaries, room)
            )
        last_end = end
    if begin >= 0:
        yield begin, last_end


def _begin_inside(
    text: str, before: SpanPair, piece: SpanPair, boundaries: Sequence[int], room: Room
) -> int:
    """Return where the chunk that goes on with ``piece`` begins."""
    least = max(before[0] + 1, room.back(before[0], piece[1]))
    if room.overlap:
        least = max(least, room.overlap_back(before[0], before[1]))
        return _first_boundary(boundaries, least, before[1]) or (
            _first_word(text, least, before[1]) or piece[0]
        )
    # The beginning of as many sentences before its end as are shared.
    ahead = bisect_left(boundaries, before[1]) - room.overlap_sentences
    least = max(least, boundaries[ahead] if 0 <= ahead < len(boundaries) else 0)
    return _first_boundary(boundaries, least, before[1]) or piece[0]


def _first_boundary(boundaries: Sequence[int], least: int, end: int) -> int | None:
    at = bisect_left(boundaries, least)
    return boundaries[at] if at < len(boundaries) and boundaries[at] < end else None


def _first_word(text: str, least: int, end: int) -> int | None:
    found = _WORD_START.search(text, least, end)
    return found.start() if found else None


def widen(text: str, pieces: Sequence[SpanPair], *, room: Room) -> Iterator[SpanPair]:
    """Let each piece begin up to ``room.overlap`` units earlier, at a word."""
    begin, last_end = -1, -1
    for start, end in pieces:
        if begin >= 0 and room.overlap:
            least = max(room.overlap_back(begin + 1, last_end), room.back(begin, end))
            begin = _first_word(text, least, last_end) or start
        else:
            begin = start
        yield begin, end
        last_end = end


def find_units(text: str, block: TextBlock, room: Room) -> Iterator[SpanPair]:
    """Return the sentences of a block, or its lines; one that does not fit is cut."""
    if block.by_line:
        spans = [m.span() for m in _LINE.finditer(text, block.start, block.end)]
    else:
        found = sentence_spans(text[block.start : block.end])
        spans = [(block.start + start, block.start + end) for start, end in found]
    for start, end in trim_spans(text, spans):
        if room.fits(start, end):
            yield start, end
        else:
            yield from cut_hard(text, (start, end), room.without_overlap)


def cut_hard(text: str, span: SpanPair, room: Room) -> Iterator[SpanPair]:
    """Cut between words, and inside of a word only where it does not fit by itself."""
    start, end = span
    while not room.fits(start, end):
        cut = room.cut(start, end)
        if not text[cut - 1].isspace() and not text[cut].isspace():
            # The cut is within a word: before it, unless the piece is that word alone.
            words = text[start:cut].rsplit(None, 1)
            cut = cut - len(words[-1]) if len(words) > 1 else cut
        yield from trim_spans(text, [(start, cut)])
        start = cut
    yield from trim_spans(text, [(start, end)])
