"""Remove headers and footers that pages repeat. Pure."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from corpus.loaders.formats.pdf.lines import Line

# A page number, and a line number from 0.
_Place = tuple[int, int]

# A header repeats on this share of the pages, in the outermost lines.
_MIN_RUNNING_PAGES = 4
_MIN_RUNNING_SHARE = 0.5
_RUNNING_LINES = 2
# Left and right pages may have different headers; a link may lie outside them.
_NEARBY = (-2, -1, 1, 2)
_NEARBY_LINES = 3
_NUMBER = re.compile(r"(?<!\d)\d{1,4}(?!\d)")
_ROMAN = re.compile(r"\b[ivxlc]{1,6}\Z")
# "12", "- 12 -", "Page 12", "12 / 40", "xii", "F-12".
_PAGE_NUMBER = re.compile(
    r"\A\W*+(?:\w++\s)?(?:[a-z]\W)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s?(?:/|\w\w\w?)\s?\d{1,4})?\W*\Z",
    re.I,
)


def drop_running_heads(pages: dict[int, list[Line]]) -> dict[int, list[Line]]:
    """Drop repeated headers and footers, except the first of each.

    Mark the ones that stay, and lines that only a neighboring page repeats.
    """
    if len(pages) < _MIN_RUNNING_PAGES:
        return _with_marks(pages, _repeated_nearby(pages))
    edges = _edges(pages, _RUNNING_LINES)
    min_pages = len(pages) * _MIN_RUNNING_SHARE
    # Lines repeated on enough pages, or that are only a number.
    keys = {place: "#" if text.isdecimal() else text for place, text in edges.items()}
    counts = Counter(key for _, key in {(page, key) for (page, _), key in keys.items()})
    running = {place for place, key in keys.items() if counts[key] >= min_pages}
    # And those whose number increases by one from page to page.
    ahead = {
        (page, at, int(number) - page)
        for (page, at), text in edges.items()
        for number in _NUMBER.findall(text)
    }
    step_counts = Counter(steps for _, steps in {(page, steps) for page, _, steps in ahead})
    numbered = {(page, at) for page, at, steps in ahead if step_counts[steps] >= min_pages}
    # "Chapter 3" may stand on page 3.
    others = {_unnumbered(text) for place, text in edges.items() if place not in numbered}
    running |= {place for place in numbered if _unnumbered(edges[place]) not in others}
    seen: set[str] = set()
    dropped = set()
    for place in sorted(running):
        key = _unnumbered(edges[place])
        if key in seen or key == "#":
            dropped.add(place)
        seen.add(key)
    remaining = {
        page: [line for at, line in enumerate(lines) if (page, at) not in dropped]
        for page, lines in _with_marks(pages, running).items()
    }
    return _with_marks(remaining, _repeated_nearby(remaining))


def _edges(pages: Mapping[int, list[Line]], count: int) -> dict[_Place, str]:
    """Return the text of the first and last lines of each page, by position."""
    return {
        (page, at): line.text.strip()
        for page, lines in pages.items()
        for at, line in enumerate(lines)
        if at < count or at >= len(lines) - count
    }


def _with_marks(pages: Mapping[int, list[Line]], places: set[_Place]) -> dict[int, list[Line]]:
    marked = {page: list(lines) for page, lines in pages.items()}
    for page, at in places:
        marked[page][at] = replace(marked[page][at], is_running=True)
    return marked


def _repeated_nearby(pages: Mapping[int, list[Line]]) -> set[_Place]:
    """Return the positions of page numbers, and of lines repeated on a page nearby."""
    edges = _edges(pages, _NEARBY_LINES)
    keys = {place: _ROMAN.sub("#", _unnumbered(text)) for place, text in edges.items()}
    nearby = {(page, key) for (page, _), key in keys.items()}
    return {
        (page, at)
        for (page, at), key in keys.items()
        if any((page + step, key) in nearby for step in _NEARBY)
        or _PAGE_NUMBER.match(edges[page, at])
    }


def _unnumbered(text: str) -> str:
    return re.sub(r"\d+", "#", text)
