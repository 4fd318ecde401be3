"""Render an excerpt of a stored text as HTML, with spans of it marked. Pure.

Text of documents is always escaped: all elements are made here.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise, takewhile
from typing import NamedTuple

from web.light_markup import LIGHT, read_light_markup
from web.markdown import Element, Part, Piece, read_markdown
from web.text_tables import WITH_TABLES, read_tables

MARKDOWN = "text/markdown"


class Mark(NamedTuple):
    """Characters ``start:end`` of a document to put in an element.

    Attributes:
        tag, name: The element, and its class.
        id: Of the first of its elements: a mark that crosses markup has several.
    """

    start: int
    end: int
    tag: str = "mark"
    name: str = "cited"
    id: str = ""


def render(
    text: str,
    *,
    media_type: str,
    offset: int = 0,
    marks: Sequence[Mark] = (),
    inserted: Sequence[tuple[int, str]] = (),
) -> str:
    """Return the text as HTML with marks around spans of it.

    The elements of a mark contain what is shown of its span: all of a plain text, the words of
    Markdown, the cells of a table. The HTML needs a block of the class ``rendered`` around it,
    plain text one of the class ``text``.

    Args:
        text: An excerpt of a document, in its stored form.
        media_type: Of the document: Markdown is rendered, and markup within lines of
            reStructuredText and AsciiDoc; formats whose tables are stored as rows between bars get
            tables; all else is shown as it is.
        offset: Where the excerpt begins in its document.
        marks: Spans in characters of the document, outer ones first.
        inserted: HTML to insert unescaped, each after a character of the document.
    """
    parts = _read(text, media_type)
    shifted = [m._replace(start=m.start - offset, end=m.end - offset) for m in marks]
    pieces = [part for part in parts if isinstance(part, Piece)]
    placed = []
    for place, html in inserted:
        # Behind the text that is shown before it; closing markup may be between.
        at = place - offset
        ends = (piece.end for piece in pieces if piece.start < at)
        placed.append((min(max(ends, default=at), at), html))
    layer = _Layer(shifted, placed)
    shown = [
        html
        for part in parts
        for html in ([part.html] if isinstance(part, Element) else layer.lay_around(part))
    ]
    return "".join([*shown, *layer.insert_to(len(text))])


def visible_text(text: str, *, media_type: str) -> str:
    """Return what is shown of the text in one line."""
    shown = (
        part.text if isinstance(part, Piece) else " " * (not _IS_INLINE.match(part.html))
        for part in _read(text, media_type)
    )
    return " ".join("".join(shown).split())


# Elements that do not end a line.
_IS_INLINE = re.compile(r"</?(?:a|code|em|strong)\b")


def _read(text: str, media_type: str) -> list[Part]:
    if media_type == MARKDOWN:
        return _read_from_row(text) or read_markdown(text)
    if media_type in LIGHT:
        return read_light_markup(text, media_type)
    return read_tables(text) if media_type in WITH_TABLES else [Piece(0, len(text), text)]


_ROW = re.compile(r"\|[^\n]++")
_RULE = re.compile(r"\n\|(?=[:| \t]*-)[-:| \t]*(?=\n|\Z)")


def _read_from_row(text: str) -> list[Part]:
    """Read a text that begins within a table as one that has empty heads; nothing of all else."""
    row = _ROW.match(text)
    if row is None or not row[0].rstrip().endswith("|") or _RULE.match(text, row.end()):
        return []
    count = len(re.findall(r"(?<!\\)\|", row[0])) - 1
    head = f"|{' |' * count}\n|{' --- |' * count}\n"
    return [
        part
        if isinstance(part, Element)
        else part._replace(start=part.start - len(head), end=part.end - len(head))
        for part in read_markdown(head + text)
        if isinstance(part, Element) or part.start >= len(head)
    ]


class _Layer:
    """A layer of tags around and between pieces."""

    def __init__(self, marks: Sequence[Mark], inserted: Sequence[tuple[int, str]]) -> None:
        self._marks = marks
        self._waiting = sorted(inserted, key=lambda each: each[0])
        self._opened: set[int] = set()

    def lay_around(self, piece: Piece) -> Iterator[str]:
        yield from self.insert_to(piece.start)
        near = [n for n, m in enumerate(self._marks) if m.start < piece.end and m.end > piece.start]
        cuts = {piece.start, piece.end}
        if not piece.is_whole:
            places = {place for n in near for place in (self._marks[n].start, self._marks[n].end)}
            places.update(place for place, _ in self._waiting)
            cuts.update(place for place in places if piece.start < place < piece.end)
        laid: list[int] = []
        for start, end in pairwise(sorted(cuts)):
            text = piece.text
            if not piece.is_whole:
                text = text[start - piece.start : end - piece.start]
            covering = [n for n in near if self._marks[n].start <= start < self._marks[n].end]
            yield from self._change(laid, covering)
            laid = covering
            yield escape(text)
            if self._waiting and self._waiting[0][0] <= end:
                yield from self._change(laid, [])
                laid = []
                yield from self.insert_to(end)
        yield from self._change(laid, [])

    def insert_to(self, place: int) -> Iterator[str]:
        while self._waiting and self._waiting[0][0] <= place:
            yield self._waiting.pop(0)[1]

    def _change(self, laid: list[int], wanted: list[int]) -> Iterator[str]:
        """Close what ends and open what begins; what goes on, stays."""
        unchanged = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(laid, wanted, strict=False))
        )
        for number in reversed(laid[unchanged:]):
            yield f"</{self._marks[number].tag}>"
        for number in wanted[unchanged:]:
            mark = self._marks[number]
            name = f' class="{escape(mark.name)}"' if mark.name else ""
            is_first = number not in self._opened
            key = f' id="{escape(mark.id)}"' if mark.id and is_first else ""
            yield f"<{mark.tag}{name}{key}>"
        self._opened.update(wanted)
