"""Render a stretch of a stored text as HTML, with spans of it marked. Pure.

Nothing of the text is ever HTML: elements are made here, all else is escaped.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from web.markdown import Element, Piece, read_markdown

MARKDOWN = "text/markdown"


class Mark(NamedTuple):
    """Characters ``start:end`` of a document that an element is laid around.

    Attributes:
        tag, name: The element, and its class.
        id: Of the first piece of it that is shown.
    """

    start: int
    end: int
    tag: str = "mark"
    name: str = "cited"
    id: str = ""


def render(text: str, *, media_type: str, offset: int = 0, marks: Sequence[Mark] = ()) -> str:
    """Return the text as HTML in which each span that is marked has its elements around it.

    Joined, what a mark's elements hold is what is shown of its span: of plain text the span
    itself, of Markdown the span without its marks. It is to stand in a block of the class
    ``rendered``, plain text in one of the class ``text``.

    Args:
        text: Of a document, in its stored form.
        media_type: Of the document; ``text/markdown`` is rendered, all else is shown as it is.
        offset: Where the text begins in its document.
        marks: Spans in characters of the document, outer ones first.
    """
    parts = read_markdown(text) if media_type == MARKDOWN else [Piece(0, len(text), text)]
    shifted = [m._replace(start=m.start - offset, end=m.end - offset) for m in marks]
    opened: set[int] = set()
    shown = (
        [part.html] if isinstance(part, Element) else _lay_around(part, shifted, opened)
        for part in parts
    )
    return "".join(html for each in shown for html in each)


def _lay_around(piece: Piece, marks: Sequence[Mark], opened: set[int]) -> Iterator[str]:
    for start, end in pairwise(_cuts(piece, marks)):
        text = piece.text if piece.is_whole else piece.text[start - piece.start : end - piece.start]
        covering = [number for number, mark in enumerate(marks) if mark.start <= start < mark.end]
        for number in covering:
            yield _opening(marks[number], is_first=number not in opened)
        opened.update(covering)
        yield escape(text)
        for number in reversed(covering):
            yield f"</{marks[number].tag}>"


def _cuts(piece: Piece, marks: Sequence[Mark]) -> list[int]:
    places = {piece.start, piece.end}
    if not piece.is_whole:
        ends = (place for mark in marks for place in (mark.start, mark.end))
        places.update(place for place in ends if piece.start < place < piece.end)
    return sorted(places)


def _opening(mark: Mark, *, is_first: bool) -> str:
    name = f' class="{escape(mark.name)}"' if mark.name else ""
    key = f' id="{escape(mark.id)}"' if mark.id and is_first else ""
    return f"<{mark.tag}{name}{key}>"
