"""Normalize characters in linear time, and check what can be stored."""

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal

# Maximum combining marks in a row: the limit of Unicode's stream-safe form (UAX 15), and more than
# any language uses. Sorting marks takes quadratic time: 80,000 of them, which are 160 kB, would
# stop all threads for minutes.
MAX_MARKS = 30
# Characters processed at once, about 10 ms, so that other threads can run.
PIECE_CHARS = 2**18

# Characters that may be marks: not letters, digits, whitespace or ASCII.
_UNUSUAL = re.compile(rf"[^\w\s\x00-\x7f]{{{MAX_MARKS + 1},}}")
# Korean vowels and finals, which join the letter before.
_JOINING = ("\u1160", "\u11ff")
_JOINER = "\u200d"


def normalize(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return a text in a Unicode form; marks after the 30th in a row are dropped."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _UNUSUAL.sub(_drop_marks, text))


def split_text(text: str) -> Iterator[str]:
    """Yield parts of a text that can be normalized and stripped separately.

    A part ends with an ASCII letter, digit or sign, before a character that does not join it.
    """
    start = 0
    while start < len(text):
        end = start + PIECE_CHARS
        # Other characters may be dropped, so that their neighbors join.
        while end < len(text) and not (
            _stands_alone(text[end - 1]) and (text[end] in " \t\r\n" or _stands_alone(text[end]))
        ):
            end += 1
        yield text[start:end]
        start = end


def _stands_alone(character: str) -> bool:
    is_joining = _JOINING[0] <= character <= _JOINING[1]
    return "!" <= character <= "~" or (character.isalnum() and not is_joining)


def _drop_marks(run: re.Match[str]) -> str:
    characters, marks = [], 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MAX_MARKS:
            characters.append(character)
    return "".join(characters)


def fold_text(text: str) -> str:
    """Return only letters and digits, in lower case and without accents."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


def widen_to_characters(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span so that it cuts no mark from its letter: tokens omit accents."""
    while _are_joined(text, start):
        start -= 1
    while _are_joined(text, end):
        end += 1
    return start, end


def _are_joined(text: str, at: int) -> bool:
    """Return whether the characters before and after ``at`` form one."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff":
        return True
    return _JOINER in (before, behind) or unicodedata.category(behind).startswith("M")


# Postgres' text cannot contain NUL, and UTF-8 no half of a surrogate pair.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Maximum nesting of lists and objects, for which parsers recurse.
MAX_DEPTH = 32


def is_storable(value: Any, *, depth: int = MAX_DEPTH) -> bool:
    """Return whether a JSON value, or a text, can be stored."""
    if isinstance(value, str):
        return UNSTORABLE.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    if not isinstance(value, dict | list):
        return True
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    return depth > 0 and all(is_storable(each, depth=depth - 1) for each in inner)
