"""Cut a text into chunks: spans of whole paragraphs, or of sentences where one is too long.

Nothing here knows a model: lengths are counted on the token spans that the caller measured.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from corpus.ingestion.normalizing import BLOCK_SEPARATOR, Heading, Outline
from corpus.sentences import sentence_spans

SpanPair = tuple[int, int]
# Headings down to this level are never inside a chunk but at its beginning.
SECTION_LEVEL = 3
# A section of fewer tokens is merged with the next one under the same parent.
SMALL_SECTION_TOKENS = 32
# A word without end (base64, a minified script) counts as one token whatever its length.
MAX_CHARS_PER_TOKEN = 12


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open slice ``start:end`` of a text, in characters, and what stands above it.

    Attributes:
        heading_path: The headings it is under, outermost first.
        heading_level: Level of the innermost of them, or None.
        page: Where it begins, or None where the text has no pages.
    """

    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    heading_level: int | None = None
    page: int | None = None


class TokenRuler:
    """Counts tokens of any slice of one text, from the spans of all its tokens."""

    def __init__(self, spans: Sequence[SpanPair]) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def count(self, start: int, end: int) -> int:
        """Return how many tokens lie, wholly or in part, in ``start:end``."""
        tokens = bisect_left(self._starts, end) - bisect_right(self._ends, start)
        return max(tokens, -(-(end - start) // MAX_CHARS_PER_TOKEN) if end > start else 0)

    def cut(self, start: int, end: int, limit: int) -> int:
        """Return the greatest end in ``start:end`` that leaves at most ``limit`` tokens."""
        last = bisect_right(self._ends, start) + limit
        by_tokens = self._starts[last] if last < len(self._starts) else end
        return max(start + 1, min(end, by_tokens, start + limit * MAX_CHARS_PER_TOKEN))


def split_text(
    text: str,
    *,
    outline: Outline,
    ruler: TokenRuler,
    limit: Callable[[tuple[str, ...]], int],
    overlap_sentences: int = 1,
) -> list[Span]:
    """Cut ``text`` into spans of at most ``limit(heading_path)`` tokens.

    Sections are kept apart; in each, whole paragraphs are packed; a paragraph over the limit
    is cut into windows of whole sentences that share ``overlap_sentences``; a sentence over the
    limit is cut between tokens. Every character that is no white space is in a span.

    Returns:
        Spans in order of start; none for a text of white space.
    """
    spans: list[Span] = []
    for start, end, path, level in _sections(text, outline, ruler):
        pieces = _pack(text, (start, end), ruler, limit(path), overlap_sentences)
        spans += [Span(s, e, path, level, _page(outline, s)) for s, e in pieces]
    return spans


def _page(outline: Outline, start: int) -> int | None:
    at = bisect_right(outline.pages, start, key=lambda page: page[0])
    return outline.pages[at - 1][1] if at else None


Section = tuple[int, int, tuple[str, ...], int | None]


def _sections(text: str, outline: Outline, ruler: TokenRuler) -> Iterator[Section]:
    """Cut at headings, and let a small section grow into the next under the same parent."""
    pending: Section | None = None
    for section in _raw_sections(text, outline.headings):
        if pending and _may_merge(pending, section, ruler):
            pending = (pending[0], section[1], *_wider(pending, section))
        else:
            if pending:
                yield pending
            pending = section
    if pending:
        yield pending


def _raw_sections(text: str, headings: Sequence[Heading]) -> Iterator[Section]:
    stack: list[Heading] = []
    cuts = [h for h in headings if h.level <= SECTION_LEVEL]
    if not cuts or text[: cuts[0].start].strip():
        yield 0, cuts[0].start if cuts else len(text), (), None
    ends = [following.start for _, following in pairwise(cuts)] + [len(text)]
    for heading, end in zip(cuts, ends, strict=False):
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        yield heading.start, end, tuple(h.text for h in stack), heading.level


def _may_merge(first: Section, second: Section, ruler: TokenRuler) -> bool:
    """Only a small section merges, with its own child or the sibling after it."""
    if ruler.count(first[0], first[1]) >= SMALL_SECTION_TOKENS:
        return False
    path, following = first[2], second[2]
    return following[: len(path)] == path or (
        len(following) == len(path) and following[:-1] == path[:-1]
    )


def _wider(first: Section, second: Section) -> tuple[tuple[str, ...], int | None]:
    """The path of both: a heading with little of its own gives way to its child."""
    if second[2][: len(first[2])] == first[2]:
        return second[2], second[3]
    return first[2][:-1], None


def _pack(
    text: str, section: SpanPair, ruler: TokenRuler, limit: int, overlap: int
) -> Iterator[SpanPair]:
    """Join neighbouring paragraphs while they fit; cut one that does not fit alone."""
    open_span: SpanPair | None = None
    for start, end in _paragraphs(text, section):
        is_full = open_span and ruler.count(open_span[0], end) > limit
        # What is too little to stand alone, a heading say, goes along with what follows.
        if open_span and is_full and ruler.count(*open_span) >= SMALL_SECTION_TOKENS:
            yield open_span
            open_span = None
        begin = open_span[0] if open_span else start
        if ruler.count(begin, end) <= limit:
            open_span = (begin, end)
        else:
            yield from _windows(text, (begin, end), ruler, limit, overlap)
            open_span = None
    if open_span:
        yield open_span


def _paragraphs(text: str, section: SpanPair) -> Iterator[SpanPair]:
    start = section[0]
    while start < section[1]:
        gap = text.find(BLOCK_SEPARATOR, start, section[1])
        end = section[1] if gap < 0 else gap
        piece = text[start:end]
        size = len(piece.strip())
        if size:
            left = start + len(piece) - len(piece.lstrip())
            yield left, left + size
        start = end + len(BLOCK_SEPARATOR)


def _windows(
    text: str, paragraph: SpanPair, ruler: TokenRuler, limit: int, overlap: int
) -> Iterator[SpanPair]:
    """Cut a paragraph into windows of whole sentences, neighbours sharing ``overlap``."""
    sentences = list(_short_sentences(text, paragraph, ruler, limit))
    first = 0
    while first < len(sentences):
        last = first
        while last + 1 < len(sentences) and (
            ruler.count(sentences[first][0], sentences[last + 1][1]) <= limit
        ):
            last += 1
        yield sentences[first][0], sentences[last][1]
        if last + 1 == len(sentences):
            return
        first = _next_first(sentences, first, last, overlap, ruler, limit)


def _next_first(
    sentences: Sequence[SpanPair],
    first: int,
    last: int,
    overlap: int,
    ruler: TokenRuler,
    limit: int,
) -> int:
    """Step back by the overlap, as far as the next sentence still fits behind it."""
    following = sentences[last + 1]
    for candidate in range(max(first + 1, last + 1 - overlap), last + 1):
        if ruler.count(sentences[candidate][0], following[1]) <= limit:
            return candidate
    return last + 1


def _short_sentences(
    text: str, paragraph: SpanPair, ruler: TokenRuler, limit: int
) -> Iterator[SpanPair]:
    """The sentences of a paragraph, one over the limit cut between tokens."""
    offset = paragraph[0]
    for start, end in sentence_spans(text[offset : paragraph[1]]):
        yield from _trim_each(text, _hard_cuts(start + offset, end + offset, ruler, limit))


def _hard_cuts(start: int, end: int, ruler: TokenRuler, limit: int) -> Iterator[SpanPair]:
    while ruler.count(start, end) > limit:
        cut = ruler.cut(start, end, limit)
        yield start, cut
        start = cut
    yield start, end


def _trim_each(text: str, spans: Iterable[SpanPair]) -> Iterator[SpanPair]:
    for start, end in spans:
        piece = text[start:end]
        left = len(piece) - len(piece.lstrip())
        size = len(piece.strip())
        if size:
            yield start + left, start + left + size
