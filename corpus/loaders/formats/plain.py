"""Plain text and source code: one block a paragraph, lines as they are."""

import re

from corpus.loaders.base import Block, LoadedDocument
from corpus.loaders.charset import decode

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
# A form feed ends a page, and with it a paragraph.
_LINE_ENDS = str.maketrans({"\r": "\n", "\f": "\n\n", "\v": "\n"})


def unified(text: str) -> str:
    """One kind of line break; page breaks part paragraphs."""
    return text.replace("\r\n", "\n").translate(_LINE_ENDS)


def paragraphs(text: str) -> list[str]:
    """Cut at empty lines; indentation and single line breaks stay."""
    pieces = (piece.strip("\n").rstrip() for piece in _EMPTY_LINES.split(unified(text)))
    return [piece for piece in pieces if piece]


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a text file in any encoding."""
    return LoadedDocument(tuple(Block(piece) for piece in paragraphs(decode(content))))
