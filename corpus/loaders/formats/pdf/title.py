"""The title of a PDF: from its properties, else the largest words of its first page. Pure."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import takewhile
from pathlib import PurePath

from corpus.loaders.formats.pdf.lines import Line

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
_LARGER = 1.12
_MIN_LETTERS = 3
# A longer text is body text in large letters.
_MAX_CHARS = 200
# Mark of a footnote, often an acknowledgment.
_FOOTNOTE = "*∗†‡§ "
# A letter is about half as wide as high; a vertical line has almost no width.
_MIN_WIDTH_EMS = 0.15


def find_title(stated: str, pages: Mapping[int, list[Line]], *, filename: str) -> str:
    """Return a PDF's stated title, the largest words of page 1, or the file name.

    Args:
        stated: Title in its properties.
        pages: Lines by page number.
    """
    said = stated.strip()
    if said and not _NO_TITLE.search(said):
        return said
    return _largest(pages) or PurePath(filename).stem


def _largest(pages: Mapping[int, list[Line]]) -> str:
    chars: Counter[float] = Counter()
    for line in (line for lines in pages.values() for line in lines):
        chars[line.size] += len(line.text)
    first = [line for line in pages.get(1, []) if _may_be_title(line)]
    usual = chars.most_common(1)[0][0] if chars else 0.0
    large = [line for line in first if line.size > usual * _LARGER]
    if not large:
        return ""
    size = max(line.size for line in large)
    at = next(at for at, line in enumerate(first) if line.size == size)
    run = takewhile(lambda line: line.size == size, first[at:])
    title = " ".join(" ".join(line.text.split()) for line in run)
    return title.rstrip(_FOOTNOTE) if len(title) <= _MAX_CHARS else ""


def _may_be_title(line: Line) -> bool:
    text = line.text.strip()
    is_upright = abs(line.right - line.left) < line.size * len(text) * _MIN_WIDTH_EMS
    has_words = sum(map(str.isalpha, text)) >= _MIN_LETTERS
    return has_words and not is_upright and not _PART.fullmatch(text)
