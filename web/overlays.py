"""Lay spans over a text: which stretch belongs to which chunks, and what is marked; pure."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple


class Span(NamedTuple):
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
    text: str, *, offset: int, spans: Sequence[Span], marked: tuple[int, int] | None = None
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


def _covering(spans: Iterable[Span], place: int) -> Iterable[int]:
    return (span.label for span in spans if span.start <= place < span.end)
