"""Plain text and source code: one block for each paragraph, and underlined titles."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from corpus.loaders.base import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.speech.transcripts import transcript_blocks
from corpus.loaders.formats.titles import title_at, width

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
# A form feed ends a page, and with it a paragraph.
_LINE_ENDS = str.maketrans({"\r": "\n", "\f": "\n\n", "\v": "\n"})

_MAX_LEVEL = 6
# Columns that a rule may differ from its title in width.
_MAX_RULE_DIFFERENCE = 2


def normalize_newlines(text: str) -> str:
    """Normalize line breaks; turn page breaks into paragraph breaks."""
    return text.replace("\r\n", "\n").translate(_LINE_ENDS)


def paragraphs(text: str) -> list[str]:
    """Yield the paragraphs between empty lines, with their indentation and line breaks."""
    pieces = (piece.strip("\n").rstrip() for piece in _EMPTY_LINES.split(normalize_newlines(text)))
    return [piece for piece in pieces if piece]


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a text file in any encoding; its file name is its title."""
    # The first heading is not used as title: it is often "Overview", and in the heading path.
    text = normalize_newlines(decode(content))
    blocks = transcript_blocks(text, filename=filename) or _blocks(paragraphs(text))
    return LoadedDocument(tuple(blocks), title=PurePath(filename).stem)


def _blocks(pieces: list[str]) -> Iterator[Block]:
    styles: list[tuple[str, bool]] = []
    for piece in pieces:
        lines = piece.split("\n")
        title = title_at(lines, 0)
        # In plain text, only a rule as long as the line above makes a title.
        if title and abs(title.rule_width - width(title.text)) <= _MAX_RULE_DIFFERENCE:
            if title.style not in styles:
                styles.append(title.style)
            level = min(styles.index(title.style) + 1, _MAX_LEVEL)
            yield Block("\n".join(lines[: title.line_count]), level, title.text)
            piece = "\n".join(lines[title.line_count :])  # noqa: PLW2901
        yield Block(piece)
