"""Find a query's words in a passage; pure functions."""

import re
from typing import NamedTuple

_WORD = re.compile(r"\w+")
# Words that say nothing of what is looked for.
_COMMON = frozenset(
    "a an and are as at be by can do does for from had has have how i in is it its of on or our"
    " that the their there these they this to was we were what when where which who whom why will"
    " with you your".split()
)
_ENDINGS = re.compile(r"(?:ing|ies|es|ed|ly|s|y)$")
_SHORTEST_STEM = 3


class Piece(NamedTuple):
    """A stretch of text, and whether it is one of the query's words."""

    text: str
    is_hit: bool


def split_at_terms(text: str, query: str) -> list[Piece]:
    """Cut the text where words of the query begin and end; joined, the pieces are the text."""
    stems = {_stem(word) for word in _WORD.findall(query) if word.lower() not in _COMMON}
    pieces, place = [], 0
    for match in _WORD.finditer(text):
        if _stem(match.group()) not in stems:
            continue
        pieces.append(Piece(text[place : match.start()], is_hit=False))
        pieces.append(Piece(match.group(), is_hit=True))
        place = match.end()
    pieces.append(Piece(text[place:], is_hit=False))
    return [piece for piece in pieces if piece.text]


def _stem(word: str) -> str:
    lowered = word.lower()
    cut = _ENDINGS.sub("", lowered)
    return cut if len(cut) >= _SHORTEST_STEM else lowered
