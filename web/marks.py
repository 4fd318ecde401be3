"""Mark a text: where chunks and citations lie over it, and which words were searched for. Pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple


class LabelledSpan(NamedTuple):
    """Characters ``start:end`` of a document; ``label`` tells spans apart."""

    start: int
    end: int
    label: int


class Stretch(NamedTuple):
    """A piece of text.

    Attributes:
        labels: Of the spans that cover it, in order.
        begins: Of the spans that begin with it.
        is_marked, opens_mark: It is part of what is pointed out; it is the first part.
    """

    text: str
    labels: tuple[int, ...]
    begins: tuple[int, ...]
    is_marked: bool
    opens_mark: bool

    @property
    def tint(self) -> str:
        """Neighbours differ; what several spans share is told apart too."""
        if len(self.labels) > 1:
            return "shared"
        return ("even", "odd")[self.labels[0] % 2] if self.labels else "bare"


def lay_over(
    text: str, *, offset: int, spans: Sequence[LabelledSpan], marked: tuple[int, int] | None = None
) -> list[Stretch]:
    """Cut a text wherever a span begins or ends; joined, the stretches are the text.

    Args:
        offset: Where the text begins in its document.
        marked: A span to be pointed out.
    """
    ends = [offset, offset + len(text), *(marked or ())]
    ends += [place for span in spans for place in (span.start, span.end)]
    cuts = sorted({min(max(place, offset), offset + len(text)) for place in ends})
    return [
        Stretch(
            text[start - offset : end - offset],
            labels=tuple(_covering(spans, start)),
            begins=tuple(span.label for span in spans if span.start == start),
            is_marked=marked is not None and marked[0] <= start < marked[1],
            opens_mark=marked is not None and marked[0] == start,
        )
        for start, end in pairwise(cuts)
    ]


def _covering(spans: Iterable[LabelledSpan], place: int) -> Iterable[int]:
    return (span.label for span in spans if span.start <= place < span.end)


_WORD = re.compile(r"\w+")
# Words that say nothing of what is looked for.
_COMMON = frozenset(
    "a an and are as at be by can do does for from had has have how i in is it its of on or our"
    " that the their there these they this to was we were what when where which who whom why will"
    " with you your".split()
)
_ENDINGS = re.compile(r"(?:ing|ies|es|ed|ly|s|y)$")
_SHORTEST_STEM = 3


class Fragment(NamedTuple):
    """A stretch of text, and whether it is one of the query's words."""

    text: str
    is_hit: bool


def split_at_terms(text: str, query: str) -> list[Fragment]:
    """Cut the text where words of the query begin and end; joined, the pieces are the text."""
    stems = {_stem(word) for word in _WORD.findall(query) if word.lower() not in _COMMON}
    pieces, place = [], 0
    for match in _WORD.finditer(text):
        if _stem(match.group()) not in stems:
            continue
        pieces.append(Fragment(text[place : match.start()], is_hit=False))
        pieces.append(Fragment(match.group(), is_hit=True))
        place = match.end()
    pieces.append(Fragment(text[place:], is_hit=False))
    return [piece for piece in pieces if piece.text]


def _stem(word: str) -> str:
    lowered = word.lower()
    cut = _ENDINGS.sub("", lowered)
    return cut if len(cut) >= _SHORTEST_STEM else lowered
