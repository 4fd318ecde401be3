"""Titles of plain text and reStructuredText: a line with a rule under it, or also above it."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_RULE = re.compile(r"\A([!-/:-@\[-`{-~])\1+[ \t]*$")
_MAX_CHARS = 500
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


def title_at(lines: Sequence[str], at: int) -> Title | None:
    """Return a title that begins on a line after an empty line or a rule."""
    if at and lines[at - 1].strip() and not _is_rule(lines[at - 1]):
        return None
    first, second, third = (lines[at + k].rstrip() if at + k < len(lines) else "" for k in range(3))
    if _is_rule(first) and second.strip() and third == first and _fits(second.strip(), first):
        return Title(second.strip(), (first[0], True), len(first), 3)
    if first and not first[0].isspace() and not _is_rule(first) and _is_rule(second):
        title = Title(first, (second[0], False), len(second), 2)
        return title if _fits(first, second) else None
    return None


def width(text: str) -> int:
    """Return the columns on a terminal: East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _is_rule(line: str) -> bool:
    return _RULE.match(line) is not None


def _fits(title: str, rule: str) -> bool:
    return len(title) <= _MAX_CHARS and len(rule) >= min(width(title), _MIN_SHORT_RULE)
