"""Join paragraphs that a page break cuts. Pure.

Headers, footers, footnotes, captions, and figures or tables with captions may lie between the
parts. Parts stay separate if it is unclear that a sentence continues.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from corpus.loaders.formats.pdf.lines import HEADING_SCALE, INDENT_EMS, ITEM, JOINT, Line

Paragraph = list[Line]
# The pages of a paragraph, with its lines.
Parts = list[tuple[int, Paragraph]]

# Footnotes and labels in figures are smaller than the text by this much.
_SMALLER = 0.95
# "Figure 3: ...", in any language.
_CAPTION = re.compile(r"[^\W\d_]{3,15}\.?\s?\d{1,3}(?:[.-]\d{1,3})*+\s?(?:[.:](?:\s|\Z)|\Z)")
# The end of a sentence, with closing marks and a footnote mark.
_ENDED = re.compile(
    r"[.!?:;\u2026\u3002\uff01\uff1f\uff1a\uff1b\u061f\u061b\u0964]"
    r"[\"')\]\u00bb\u2019\u201d\u203a\u300d\u300f\uff09]*"
    r"\s?[\d\u00b2\u00b3\u00b9\u2070-\u2079*\u2020\u2021]{0,3}\Z"
)
_COMMAS = (",", "\u060c", "\u3001", "\uff0c")
# Minimum words of a line of running text, half of them lowercase; in scripts without case, minimum
# letters.
_MIN_WORDS = 4
_WORD = re.compile(
    r"[(\[\"'\u00ab\u2018-\u201e]{0,2}((?:[^\W\d_]+[-'/\u2010\u2019]?)++)"
    r"[.,;:!?)\]\"'\u00bb\u2018-\u201e\u2026]{0,3}"
)
# Minimum lines of a column.
_MIN_LINES = 3
_MIN_LETTERS = 10
# A letter is about half as wide as high. A line is full if the next word does not fit, or hardly.
_WIDTH_EMS = 0.5
_HARDLY = 1.3
# One in this many lines that begin at one edge may exceed the other.
_OVER_EDGE = 10
# Maximum indent of the first line of a paragraph or item, in or out.
_MAX_INDENT_EMS = 3.0


def join_across_pages(pages: Mapping[int, Sequence[Paragraph]]) -> list[Parts]:
    """Return the paragraphs of a document, each joined with its continuation.

    Text between the parts of a paragraph follows it.

    Args:
        pages: Paragraphs by the number of their page, in order.
    """
    joined: list[Parts] = []
    # Paragraphs of the last page with running text.
    last: list[Parts] = []
    page_before = 0
    for page, paragraphs in pages.items():
        if page != page_before + 1 or not paragraphs:
            last = []
        page_before = page
        parts = [[(page, paragraph)] for paragraph in paragraphs]
        above = [each[-1][1] for each in last]
        head = _text_at(
            range(len(paragraphs)), paragraphs, size=_usual_size(chain.from_iterable(paragraphs))
        )
        if head is not None:
            tail = _text_at(reversed(range(len(above))), above, size=paragraphs[head][0].size)
            if tail is not None:
                # Computed late: many pages of figures may have many lines.
                all_lines = list(chain.from_iterable(above)), list(chain.from_iterable(paragraphs))
                is_aligned = _is_aligned(above[tail], paragraphs[head], *all_lines)
                if is_aligned and _goes_on(above[tail], paragraphs[head], all_lines[0]):
                    last[tail].append((page, paragraphs[head]))
                    parts[head] = last[tail]
        joined += [each for each in parts if len(each) == 1]
        # Pages that are a figure or table with its caption are passed over.
        texts = [p for p in paragraphs if not _is_aside(p, 0.0) and not _CAPTION.match(p[0].text)]
        has_caption = any(_CAPTION.match(paragraph[0].text) for paragraph in paragraphs)
        if not has_caption or any(p[0].level is not None or _is_text(p) for p in texts):
            last = parts
    return joined


def _usual_size(lines: Iterable[Line]) -> float:
    chars: Counter[float] = Counter()
    for line in lines:
        chars[line.size] += len(line.text)
    return chars.most_common(1)[0][0] if chars else 0.0


def _text_at(order: Iterable[int], paragraphs: Sequence[Paragraph], *, size: float) -> int | None:
    """Return the first paragraph of running text; None if other text comes before it."""
    has_caption = has_labels = False
    for at in order:
        paragraph = paragraphs[at]
        if _CAPTION.match(paragraph[0].text):
            has_caption = True
        elif not _is_aside(paragraph, size):
            if paragraph[0].level is not None:
                return None
            if _is_text(paragraph):
                return at if has_caption or not has_labels else None
            has_labels = True
    return None


def _is_aside(paragraph: Paragraph, size: float) -> bool:
    is_other = all(line.is_running or line.rows for line in paragraph)
    return is_other or max(line.size for line in paragraph) < size * _SMALLER


def _is_text(paragraph: Paragraph) -> bool:
    """Return whether it is running text, or the end of a sentence."""
    last_words = paragraph[0].text.lstrip()[0].islower() and _ENDED.search(
        paragraph[-1].text.rstrip()
    )
    return bool(last_words) or any(map(_is_prose, paragraph))


def _is_prose(line: Line) -> bool:
    letters = [letter for letter in line.text if letter.isalpha()]
    if sum(letter.lower() == letter.upper() for letter in letters) * 2 > len(letters):
        return len(letters) >= _MIN_LETTERS
    words = line.text.split()
    matches = map(_WORD.fullmatch, words)
    small = sum(match is not None and match[1][0].islower() for match in matches)
    return len(words) >= _MIN_WORDS and small * 2 >= len(words)


def _is_aligned(
    above: Paragraph, below: Paragraph, lines_above: Sequence[Line], lines_below: Sequence[Line]
) -> bool:
    """Return whether the first line below aligns with the lines above, or with a column."""
    last, first = above[-1], below[0]
    max_indent = _MAX_INDENT_EMS if len(above) == 1 else INDENT_EMS
    step = first.left - last.left
    # Left and right pages of a book may be shifted.
    left = min(line.left for line in lines_below) - min(line.left for line in lines_above)
    right = max(line.right for line in lines_below) - max(line.right for line in lines_above)
    is_shifted = abs(left - right) <= _usual_size(lines_below) * INDENT_EMS
    if min(abs(step), abs(step - (left if is_shifted else 0.0))) <= max_indent * last.size:
        return True
    column = [
        line
        for line in lines_above
        if line.right < last.left and abs(line.left - first.left) <= INDENT_EMS * last.size
    ]
    return sum(map(_is_prose, column)) >= _MIN_LINES


def _goes_on(above: Paragraph, below: Paragraph, lines_above: Sequence[Line]) -> bool:
    last, first = above[-1], below[0]
    text, following = last.text.rstrip(), first.text.lstrip()
    larger, smaller = max(last.size, first.size), min(last.size, first.size)
    second = below[1] if len(below) > 1 else first
    is_set_in = first.left - second.left > first.size * INDENT_EMS
    is_other = larger > smaller * HEADING_SCALE or ITEM.match(following) or is_set_in
    is_prose = any(map(_is_prose, above[-2:])) and _is_text(below[:2])
    if is_other or last.ends or _ENDED.search(text) or not is_prose:
        return False
    is_full = text.endswith(_COMMAS) or _is_full(last, following, lines_above)
    if following[0].islower():
        if is_full or JOINT.search(text):
            return True
        # Only its last line is short, as before a manual page break.
        before = above[-2] if len(above) > 1 else None
        return (
            before is not None
            and _is_prose(before)
            and _is_full(before, last.text.lstrip(), lines_above)
        )
    # A list item may end without a full stop, and a capital may begin a new sentence.
    is_name = ITEM.match(last.text) or following.isupper()
    return is_full and _is_prose(last) and _is_prose(first) and not is_name


def _is_full(line: Line, following: str, lines: Iterable[Line]) -> bool:
    """Return whether the next word did not fit in a line."""
    forward = 1 if line.right >= line.left else -1
    reach = _MAX_INDENT_EMS * line.size
    ends = sorted(
        other.right * forward
        for other in lines
        if other.size == line.size and abs(other.left - line.left) <= reach
    )
    room = ends[-1 - len(ends) // _OVER_EDGE] - line.right * forward
    needed = (len(following.split(maxsplit=1)[0]) + 1) * line.size * _WIDTH_EMS
    return room <= needed * _HARDLY
