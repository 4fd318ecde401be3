"""The title of a PDF: from its properties, else the largest words of its first page. Pure."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import dropwhile, takewhile
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


def find_title(property_title: str, pages: Mapping[int, list[Line]], *, filename: str) -> str:
    """Return a PDF's title by its properties, the largest words of page 1, or the file name.

    Args:
        property_title: Title in its properties.
        pages: Lines by page number.
    """
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
        has_words = sum(map(str.isalpha, text)) >= _MIN_LETTERS
        if has_words and not is_upright and not _PART.fullmatch(text):
            first.append(line)
    size = max((line.size for line in first), default=0.0)
    if size <= usual * _LARGER:
        return PurePath(filename).stem
    from_largest = dropwhile(lambda line: line.size != size, first)
    run = takewhile(lambda line: line.size == size, from_largest)
    title = " ".join(" ".join(line.text.split()) for line in run)
    largest = title.rstrip(_FOOTNOTE) if len(title) <= _MAX_CHARS else ""
    return largest or PurePath(filename).stem
