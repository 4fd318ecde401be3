"""Split a text into sections and blocks, and pack their pieces into full chunks."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from corpus.ingestion.chunkers.budget import SMALL_TOKENS, ChunkBudget, LengthCounter, SpanPair
from corpus.ingestion.normal_form import BLOCK_SEPARATOR, Heading, Outline
from corpus.sentences import sentence_spans, trim_spans

HeadingPath = tuple[str, ...]
BudgetUnder = Callable[[HeadingPath], ChunkBudget]
# Headings down to this level begin a section.
SECTION_LEVEL = 3

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,9}|~{3,9})[^\n]*\n", re.MULTILINE)
_LAID_OUT = re.compile(r"^(?:[ \t]*\||[ ]{4}|\t)[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open slice ``start:end`` of a text, in characters, with its headings.

    Attributes:
        heading_path: The headings above it, outermost first.
        heading_level: Level of the innermost heading, or None.
        page: The page of its start, or None without pages.
    """

    start: int
    end: int
    heading_path: HeadingPath = ()
    heading_level: int | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """The text under a heading of level 1 to 3, with the heading."""

    start: int
    end: int
    path: HeadingPath = ()
    level: int | None = None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, a heading, a table or a listing; trimmed.

    Attributes:
        by_line: Split between lines, if needed: a table or a listing.
    """

    start: int
    end: int
    by_line: bool = False


def find_sections(text: str, outline: Outline) -> list[Section]:
    """Split a text at headings of level 1 to 3; text before the first is a section too."""
    cuts = [h for h in outline.headings if h.level <= SECTION_LEVEL]
    sections: list[Section] = []
    if not cuts or text[: cuts[0].start].strip():
        sections.append(Section(0, cuts[0].start if cuts else len(text)))
    ends = [following.start for _, following in pairwise(cuts)] + [len(text)]
    stack: list[Heading] = []
    for heading, end in zip(cuts, ends, strict=False):
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        path = tuple(h.text for h in stack)
        sections.append(Section(heading.start, end, path, heading.level))
    return sections


def merge_small_sections(sections: Iterable[Section], counter: LengthCounter) -> Iterator[Section]:
    """Merge each small section with its first child, or with its next sibling.

    The path is that of the child, or of the parent of both siblings.
    """
    pending: Section | None = None
    for section in sections:
        if pending is None:
            pending = section
            continue
        is_small = counter.count(pending.start, pending.end) < SMALL_TOKENS
        if is_small and section.path[: len(pending.path)] == pending.path:
            pending = Section(pending.start, section.end, section.path, section.level)
        elif is_small and section.path[:-1] == pending.path[:-1]:
            pending = Section(pending.start, section.end, pending.path[:-1])
        else:
            yield pending
            pending = section
    if pending:
        yield pending


def find_blocks(text: str, start: int, end: int) -> Iterator[TextBlock]:
    """Yield the blocks of ``start:end`` between empty lines; a fenced listing is one block."""
    unclosed: set[str] = set()
    while start < end:
        block_end, by_line = _listing_end(text, start, end, unclosed), True
        if block_end is None:
            gap = text.find(BLOCK_SEPARATOR, start, end)
            block_end = end if gap < 0 else gap
            block = text[start:block_end]
            # A table or an indented listing.
            laid_out_chars = sum(len(match.group()) for match in _LAID_OUT.finditer(block))
            by_line = laid_out_chars >= 0.8 * len(block)
        yield from (TextBlock(*pair, by_line) for pair in trim_spans(text, [(start, block_end)]))
        start = block_end
        while start < end and text[start] == "\n":
            start += 1


def _listing_end(text: str, start: int, end: int, unclosed: set[str]) -> int | None:
    """Return the end of the fenced listing that begins at ``start``, if there is one.

    Args:
        unclosed: Fences without an end after ``start``, which are not searched again.
    """
    opening = _FENCE.match(text, start, end)
    if opening is None or opening.group(1) in unclosed:
        return None
    fence = opening.group(1)
    closing = re.compile(rf"^[ \t]{{0,3}}{re.escape(fence)}[`~]*$", re.MULTILINE)
    match = closing.search(text, opening.end(), end)
    if match is None:
        unclosed.add(fence)
        return None
    return match.end()


_WORD_START = re.compile(r"(?<=\s)\S")
_LINE = re.compile(r"[^\n]+")


def pack(
    text: str,
    pieces: Sequence[SpanPair],
    *,
    boundaries: Sequence[int],
    block_ends: Mapping[int, int] = MappingProxyType({}),
    budget: ChunkBudget,
) -> Iterator[SpanPair]:
    """Join neighboring pieces while they fit, with overlap between chunks.

    A chunk begins up to ``budget.overlap`` units before the end of the previous one, at a sentence
    boundary if one is near enough, else at a word, if its first new piece still fits.

    Args:
        pieces: In order; each fits the budget.
        boundaries: Starts of sentences, in order.
        block_ends: The end of each block, such as a paragraph, by its start. A block that does
            not fit as a whole begins a chunk that shares no sentences, so that a change in one
            block leaves later chunks unchanged.
    """
    begin, last_end = -1, -1
    for start, end in pieces:
        if begin < 0:
            begin = start
        elif not budget.fits(begin, block_ends.get(start, end)) and (
            not budget.fits(begin, end) or budget.is_worth_a_chunk(begin, last_end)
        ):
            yield begin, last_end
            begin = (
                start
                if start in block_ends and not budget.overlap
                else _begin_inside(text, (begin, last_end), (start, end), boundaries, budget)
            )
        last_end = end
    if begin >= 0:
        yield begin, last_end


def _begin_inside(
    text: str, before: SpanPair, piece: SpanPair, boundaries: Sequence[int], budget: ChunkBudget
) -> int:
    """Return the start of the chunk whose first new piece is ``piece``."""
    earliest = max(before[0] + 1, budget.back(before[0], piece[1]))
    if budget.overlap:
        earliest = max(earliest, budget.overlap_back(before[0], before[1]))
        return _first_boundary(boundaries, earliest, before[1]) or (
            _first_word(text, earliest, before[1]) or piece[0]
        )
    # The start of the shared sentences before its end.
    ahead = bisect_left(boundaries, before[1]) - budget.overlap_sentences
    earliest = max(earliest, boundaries[ahead] if 0 <= ahead < len(boundaries) else 0)
    return _first_boundary(boundaries, earliest, before[1]) or piece[0]


def _first_boundary(boundaries: Sequence[int], earliest: int, end: int) -> int | None:
    at = bisect_left(boundaries, earliest)
    return boundaries[at] if at < len(boundaries) and boundaries[at] < end else None


def _first_word(text: str, earliest: int, end: int) -> int | None:
    match = _WORD_START.search(text, earliest, end)
    return match.start() if match else None


def widen(text: str, pieces: Sequence[SpanPair], *, budget: ChunkBudget) -> Iterator[SpanPair]:
    """Extend each piece by up to ``budget.overlap`` units before its start, to a word."""
    begin, last_end = -1, -1
    for start, end in pieces:
        if begin >= 0 and budget.overlap:
            earliest = max(budget.overlap_back(begin + 1, last_end), budget.back(begin, end))
            begin = _first_word(text, earliest, last_end) or start
        else:
            begin = start
        yield begin, end
        last_end = end


def find_units(text: str, block: TextBlock, budget: ChunkBudget) -> Iterator[SpanPair]:
    """Yield the sentences or lines of a block; split those that do not fit."""
    if block.by_line:
        spans = [m.span() for m in _LINE.finditer(text, block.start, block.end)]
    else:
        sentences = sentence_spans(text[block.start : block.end])
        spans = [(block.start + start, block.start + end) for start, end in sentences]
    for start, end in trim_spans(text, spans):
        if budget.fits(start, end):
            yield start, end
        else:
            yield from cut_hard(text, (start, end), budget.without_overlap)


def cut_hard(text: str, span: SpanPair, budget: ChunkBudget) -> Iterator[SpanPair]:
    """Split between words; split a word only if it does not fit by itself."""
    start, end = span
    while not budget.fits(start, end):
        cut = budget.cut(start, end)
        if not text[cut - 1].isspace() and not text[cut].isspace():
            # The cut is within a word: before it, unless the piece is that word alone.
            words = text[start:cut].rsplit(None, 1)
            cut = cut - len(words[-1]) if len(words) > 1 else cut
        yield from trim_spans(text, [(start, cut)])
        start = cut
    yield from trim_spans(text, [(start, end)])
