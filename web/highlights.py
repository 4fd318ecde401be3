"""Mark a text: where chunks and citations lie over it, and which words were searched for. Pure."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class LabelledSpan(NamedTuple):
    """Characters ``start:end`` of a document; ``label`` tells spans apart."""

    start: int
    end: int
    label: int


class Stretch(NamedTuple):
    """Characters ``start:end`` that the same spans cover.

    Attributes:
        labels: Of the spans that cover it, in order.
        begins: Of the spans that begin with it.
    """

    start: int
    end: int
    labels: tuple[int, ...]
    begins: tuple[int, ...]

    @property
    def tint(self) -> str:
        """Neighbours differ; what several spans share is told apart too."""
        return "shared" if len(self.labels) > 1 else ("even", "odd")[self.labels[0] % 2]


def lay_over(spans: Sequence[LabelledSpan], *, start: int, end: int) -> list[Stretch]:
    """Cut what spans cover of characters ``start:end`` wherever a span begins or ends."""
    ends = {place for span in spans for place in (span.start, span.end)}
    cuts = sorted({min(max(place, start), end) for place in ends})
    laid = (
        Stretch(
            first,
            last,
            labels=tuple(span.label for span in spans if span.start <= first < span.end),
            begins=tuple(span.label for span in spans if span.start == first),
        )
        for first, last in pairwise(cuts)
    )
    return [stretch for stretch in laid if stretch.labels]


_WORD = re.compile(r"\w+")
# Words that say nothing of what is looked for.
_COMMON = frozenset(
    "a an and are as at be by can do does for from had has have how i in is it its of on or our"
    " that the their there these they this to was we were what when where which who whom why will"
    " with you your".split()
)
_ENDINGS = re.compile(r"(?:ing|ies|es|ed|ly|s|y)$")
_SHORTEST_STEM = 3


def find_terms(text: str, query: str) -> list[tuple[int, int]]:
    """Return where words of the query stand in the text."""
    stems = {_stem(word) for word in _WORD.findall(query) if word.lower() not in _COMMON}
    return [match.span() for match in _WORD.finditer(text) if _stem(match.group()) in stems]


def _stem(word: str) -> str:
    lowered = word.lower()
    cut = _ENDINGS.sub("", lowered)
    return cut if len(cut) >= _SHORTEST_STEM else lowered
