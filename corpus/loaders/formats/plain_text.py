"""Paragraphs of plain text, and titles: a line with a rule under it, or also above it."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
# A form feed ends a page, and with it a paragraph.
_LINE_ENDS = str.maketrans({"\r": "\n", "\f": "\n\n", "\v": "\n"})
_RULE = re.compile(r"\A([!-/:-@\[-`{-~])\1+[ \t]*$")
_MAX_TITLE_CHARS = 500
# Underlines from four characters on are valid even if shorter; docutils only warns.
_MIN_SHORT_RULE = 4


class Title(NamedTuple):
    """A title in lines of text.

    Attributes:
        style: The rule's character, and whether there is also a rule above.
        rule_width: Width in columns.
        line_count: Lines of the title and its rules.
    """

    text: str
    style: tuple[str, bool]
    rule_width: int
    line_count: int


def normalize_newlines(text: str) -> str:
    """Normalize line breaks; turn page breaks into paragraph breaks."""
    return text.replace("\r\n", "\n").translate(_LINE_ENDS)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs between empty lines, with their indentation and line breaks."""
    pieces = (piece.strip("\n").rstrip() for piece in _EMPTY_LINES.split(normalize_newlines(text)))
    return [piece for piece in pieces if piece]


def title_at(lines: Sequence[str], at: int) -> Title | None:
    """Return a title that begins on a line after an empty line or a rule."""
    if at and lines[at - 1].strip() and not _RULE.match(lines[at - 1]):
        return None
    first, second, third = (lines[at + k].rstrip() if at + k < len(lines) else "" for k in range(3))
    if _RULE.match(first) and second.strip() and third == first and _fits(second.strip(), first):
        return Title(second.strip(), (first[0], True), len(first), 3)
    is_title = first and not first[0].isspace() and not _RULE.match(first) and _RULE.match(second)
    if is_title and _fits(first, second):
        return Title(first, (second[0], False), len(second), 2)
    return None


def column_count(text: str) -> int:
    """Return the columns on a terminal: East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _fits(title: str, rule: str) -> bool:
    min_rule_chars = min(column_count(title), _MIN_SHORT_RULE)
    return len(title) <= _MAX_TITLE_CHARS and len(rule) >= min_rule_chars
