"""Build title, headings and paragraphs from lines with position and size. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile, pairwise, takewhile
from pathlib import PurePath
from statistics import median

from corpus.loaders.blocks import MAX_LEVEL, Block
from corpus.loaders.formats.pdf.lines import BULLETS, HEADING_SCALE, INDENT_EMS, ITEM, JOINT, Line
from corpus.loaders.formats.pdf.page_breaks import join_across_pages
from corpus.loaders.formats.pdf.running_heads import drop_running_heads
from corpus.loaders.table_blocks import table_blocks

# Entries of a document's outline: page -> (title, depth from 1).
Outline = dict[int, list[tuple[str, int]]]

# Maximum length of a heading in large letters, and of a shorter bold one.
_MAX_HEADING_CHARS = 200
_MAX_BOLD_HEADING_CHARS = 100
_MAX_HEADING_SHARE = 0.2
# Ratio to the usual weight that counts as bold: 400 and 700 in most fonts.
_BOLDER = 1.3
# Below this share of outline entries found as lines, the outline is ignored.
_MIN_OUTLINE_SHARE = 0.5
# A larger step down, in lines, begins a paragraph.
_PARAGRAPH_GAP = 1.45
# A smaller step, or an indented line, begins one after the end of a sentence.
_SMALL_GAP = 1.2
# Share of the paragraph's width; the writer ended a shorter line.
_FULL_LINE_SHARE = 0.85

_TERMINAL = (".", "!", "?", ":", "。", "”", '."', ".)", "؟")
# Lines that end in a number: rows of a table or of a table of contents.
_ENDS_IN_NUMBER = re.compile(r"[\d%)]\s*$")
_CJK = re.compile(
    r"[\u1100-\u11ff\u3000-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# Ligatures, which people do not type when they search.
_LIGATURES = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st",
    0xFB06: "st",
}  # fmt: skip
# Characters that pdfium returns for unnamed glyphs, except its hyphen at a line's end (2), and
# Word's bullets.
_CHARACTERS = {
    **_LIGATURES,
    **dict.fromkeys(code for code in range(0x20) if code not in (0x02, 0x09)),
    **dict.fromkeys((0xFFFE, 0xFFFF, 0xFEFF)),
    **dict.fromkeys((0xF0B7, 0xF0A7, 0xF076, 0xF0D8, 0xF06E), "•"),
}
# Placeholders that programs write as title.
_NO_TITLE = re.compile(
    r"^(?:microsoft word|untitled|slide 1\b|powerpoint|[(]?anonymous|layout ?\d|document ?\d*$"
    r"|[a-z]+:(?://|blank)|\W*\d[\d\W]*$)|\.\w{3,4}$",
    re.I,
)
# Headings of parts, which do not name the document; a leading number is ignored.
_PART = re.compile(
    r"(?:(?<![\dIVX])[\dIVX]++(?:[.)]\d*+)?\s++)?(?:table of )?"
    r"(?:contents|abstract|introduction|summary|preface|foreword|index|overview"
    r"|(?:chapter|part|section) [\dIVX]+)\W*",
    re.I,
)
# Ratio of prominent letters to the usual size.
_MIN_TITLE_SCALE = 1.12
_MIN_TITLE_LETTERS = 3
# A longer text is body text in large letters.
_MAX_TITLE_CHARS = 200
# Mark of a footnote, often an acknowledgment.
_FOOTNOTE = "*∗†‡§ "
# A letter is about half as wide as high; a vertical line has almost no width.
_MIN_WIDTH_EMS = 0.15


def blocks_from_pages(pages: Mapping[int, list[Line]], outline: Outline) -> list[Block]:
    """Return the headings and paragraphs of a document in reading order.

    Args:
        pages: Lines by page number, in the order in which the file has them.
        outline: The document's own table of contents, may be empty.
    """
    cleaned: dict[int, list[Line]] = {}
    for page, lines in pages.items():
        clean = (
            replace(
                line,
                text=line.text.translate(_CHARACTERS),
                rows=tuple(tuple(cell.translate(_CHARACTERS) for cell in row) for row in line.rows),
            )
            for line in lines
        )
        cleaned[page] = [line for line in clean if line.text.strip()]
    without_heads = drop_running_heads(cleaned)
    ranked = _by_outline(without_heads, outline) or _by_size(without_heads)
    # They decide whether a hyphen at the end of a line belongs to a word.
    words = {
        word.lower()
        for lines in ranked.values()
        for line in lines
        for word in _WORD.findall(line.text.strip())
    }
    paragraphs = {page: list(_paragraphs(lines)) for page, lines in ranked.items()}
    blocks: list[Block] = []
    for parts in join_across_pages(paragraphs):
        (page, first), *others = parts
        if first[0].rows:
            blocks += table_blocks(first[0].rows, page=page)
            continue
        text, page_starts = _text(first, words), []
        for number, lines in others:
            part = _text(lines, words)
            text = _joined(text, part, words, full=True)
            page_starts.append((len(text) - len(part), number))
        text = text.rstrip().replace("\x02", "-")
        level = first[0].level
        block = Block(
            text,
            level,
            " ".join(text.split()) if level else "",
            page,
            ocr_boxes=tuple(box for _, lines in parts for line in lines for box in line.ocr_boxes),
            page_starts=tuple(page_starts),
        )
        blocks.append(block)
    return blocks


def _by_outline(pages: dict[int, list[Line]], outline: Outline) -> dict[int, list[Line]] | None:
    """Return lines with outline levels; None if most outline entries are not found."""
    match_count = 0
    ranked: dict[int, list[Line]] = {}
    for page, lines in pages.items():
        depths = {_letters(title): depth for title, depth in outline.get(page, ()) if title.strip()}
        ranked[page] = []
        for line in lines:
            depth = depths.pop(_letters(line.text), None)
            match_count += depth is not None
            level = None if depth is None else min(depth, MAX_LEVEL)
            ranked[page].append(replace(line, level=level))
    entries = sum(map(len, outline.values()))
    return ranked if match_count and match_count >= entries * _MIN_OUTLINE_SHARE else None


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def _by_size(pages: dict[int, list[Line]]) -> dict[int, list[Line]]:
    """Return lines with a level by size, and below those the separate bold ones."""
    lines = [line for page in pages.values() for line in page]
    chars: Counter[float] = Counter()
    for line in lines:
        chars[line.size] += len(line.text)
    if not chars:
        return pages
    body = chars.most_common(1)[0][0]
    rare = sum(chars.values()) * _MAX_HEADING_SHARE
    large = {size for size in chars if size > body * HEADING_SCALE and chars[size] < rare}
    sizes = sorted({line.size for line in lines if line.size in large and _may_head(line)})
    levels = {size: min(rank, MAX_LEVEL) for rank, size in enumerate(reversed(sizes), start=1)}
    weights: Counter[int] = Counter()
    for line in lines:
        if line.size == body:
            weights[line.weight] += len(line.text)
    bold = max(weights.most_common(1)[0][0], 100) * _BOLDER
    heavy = sum(count for weight, count in weights.items() if weight >= bold)
    # If much of the text is bold, bold lines are no headings.
    has_bold = heavy < sum(weights.values()) * _MAX_HEADING_SHARE

    def level_of(line: Line) -> int | None:
        if not _may_head(line):
            return None
        stands_out = has_bold and line.weight >= bold and line.size >= body
        is_short = len(line.text) <= _MAX_BOLD_HEADING_CHARS and not line.text.endswith(":")
        below = min(len(sizes) + 1, MAX_LEVEL) if stands_out and is_short else None
        return levels.get(line.size, below)

    return {
        page: [replace(line, level=level_of(line)) for line in page_lines]
        for page, page_lines in pages.items()
    }


def _may_head(line: Line) -> bool:
    text = line.text.strip()
    letters = sum(map(str.isalpha, text))
    if line.rows or len(text) > _MAX_HEADING_CHARS or letters * 2 < len(text):
        return False
    return not (text.endswith((",", ";")) or text[0].islower() or text[0] in BULLETS)


def _paragraphs(lines: list[Line]) -> Iterable[list[Line]]:
    steps = [a.bottom - b.bottom for a, b in pairwise(lines)]
    # On a page of a few scattered lines, no step is the usual one.
    max_step = 2 * max((line.size for line in lines), default=0)
    downward = [step for step in steps if 0 < step <= max_step]
    pitch = median(downward) if downward else 0.0
    paragraph: list[Line] = []
    for line in lines:
        if paragraph and _begins(paragraph[-1], line, pitch):
            yield paragraph
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield paragraph


def _begins(above: Line, line: Line, pitch: float) -> bool:
    """Return whether a line begins a paragraph after the line above it."""
    if above.rows or line.rows:
        return True
    larger, smaller = max(above.size, line.size), min(above.size, line.size)
    step = above.bottom - line.bottom
    if above.level != line.level or larger > smaller * HEADING_SCALE:
        return True
    is_wide = step > max(pitch * _PARAGRAPH_GAP, line.size * 2)
    if line.level is not None or is_wide:
        return is_wide
    ended = above.text.rstrip().endswith(_TERMINAL)
    if step < -pitch:  # the next column, or a table's next cell
        return ended or not line.text[0].islower()
    indented = line.left - above.left > line.size * INDENT_EMS and step > 0
    return ended and (indented or step > pitch * _SMALL_GAP)


def _text(lines: Sequence[Line], words: set[str]) -> str:
    right = max(line.right for line in lines)
    left = min(line.left for line in lines)
    text = lines[0].text
    for above, line in pairwise(lines):
        full = above.right - left >= (right - left) * _FULL_LINE_SHARE
        is_whole = (full and not above.ends) or line.level is not None
        text = _joined(text, line.text, words, full=is_whole)
    return text


def _joined(text: str, line: str, words: set[str], *, full: bool) -> str:
    """Append a line to a text; remove a hyphen that only breaks the line."""
    bare = text.rstrip()
    if JOINT.search(bare) and line[0].islower():
        first_word = re.match(r"[^\W\d_]+", line)
        head, tail = re.split(r"[\s]", bare[:-1])[-1], first_word[0] if first_word else ""
        hyphenated = f"{head}-{tail}".lower() in words and (head + tail).lower() not in words
        return bare[:-1] + ("-" if hyphenated else "") + line
    # Line breaks stay in text set line by line: a verse, a table, a list.
    is_row = _ENDS_IN_NUMBER.search(bare) and _ENDS_IN_NUMBER.search(line)
    if not full or is_row or ITEM.match(line):
        return bare + "\n" + line
    within_word = bare == text and _CJK.match(bare[-1]) and _CJK.match(line[0])
    return bare + ("" if within_word else " ") + line


def find_title(property_title: str, pages: Mapping[int, list[Line]], *, filename: str) -> str:
    """Return a PDF's title by its properties, the largest words of page 1, or the file name."""
    title = property_title.strip()
    if title and not _NO_TITLE.search(title):
        return title
    chars: Counter[float] = Counter()
    for line in (line for lines in pages.values() for line in lines):
        chars[line.size] += len(line.text)
    usual = chars.most_common(1)[0][0] if chars else 0.0
    first: list[Line] = []
    for line in pages.get(1, []):
        text = line.text.strip()
        is_upright = abs(line.right - line.left) < line.size * len(text) * _MIN_WIDTH_EMS
        has_words = sum(map(str.isalpha, text)) >= _MIN_TITLE_LETTERS
        if has_words and not is_upright and not _PART.fullmatch(text):
            first.append(line)
    size = max((line.size for line in first), default=0.0)
    if size <= usual * _MIN_TITLE_SCALE:
        return PurePath(filename).stem
    from_largest = dropwhile(lambda line: line.size != size, first)
    run = takewhile(lambda line: line.size == size, from_largest)
    title = " ".join(" ".join(line.text.split()) for line in run)
    largest = title.rstrip(_FOOTNOTE) if len(title) <= _MAX_TITLE_CHARS else ""
    return largest or PurePath(filename).stem
