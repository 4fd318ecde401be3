"""Lists of headings within a text: menus and tables of contents, which only name topics."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from qa.types import Passage

# Fewer headings in a row are those of the text itself.
MIN_HEADINGS = 3
# The share of a line's characters in headings from which it lists them.
MIN_SHARE = 0.5
# A shorter heading is a word of any sentence.
MIN_HEADING_CHARS = 4
_NUMBER = re.compile(r"\A[\d.]+\s+")
_LINE = re.compile(r"\S[^\n]*")


def headings_of(passages: Iterable[Passage]) -> list[str]:
    """Return the titles and headings of passages without their numbers, the longest first."""
    headings = {
        _NUMBER.sub("", heading)
        for passage in passages
        for heading in (passage.title, *passage.heading_path)
    }
    long = [heading for heading in headings if len(heading) >= MIN_HEADING_CHARS]
    return sorted(long, key=len, reverse=True)


def blank_heading_lists(text: str, headings: Sequence[str]) -> str:
    """Return the text with spaces in place of lists of headings; its length stays."""
    here = [re.escape(heading) for heading in headings if heading in text]
    if not here:
        return text
    pattern = re.compile("|".join(here))

    def lists_headings(line: re.Match[str]) -> bool:
        return sum(map(len, pattern.findall(line[0]))) >= MIN_SHARE * len(line[0])

    for is_list, lines in groupby(_LINE.finditer(text), lists_headings):
        run = list(lines)
        start, end = run[0].start(), run[-1].end()
        if is_list and len(pattern.findall(text, start, end)) >= MIN_HEADINGS:
            text = text[:start] + " " * (end - start) + text[end:]
    return text
