"""Port for readers, which decide whether texts answer a question; one adapter per module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from django.conf import settings

from corpus.backends import BackendRegistry, LoadableModel
from qa.types import CLOSEST_COUNT, Passage, Reading


class Reader(LoadableModel, Protocol):
    """Decides whether texts answer a question, and which part of each does."""

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        """Return a reading for each text, independent of the other texts.

        Args:
            leads: Text before each text, which cannot be the answer: its title and headings.
        """
        ...


readers: BackendRegistry[Reader] = BackendRegistry("PKB_READERS")


def get_reader() -> Reader:
    """Return the reader that ``PKB_READER`` names."""
    return readers[settings.PKB_READER_MODEL]


# Best passages to read: more contain the answer hardly more often, and each takes time.
READ_COUNT = 10
# How far behind the best a passage's own score may be for it to be read: with 0.4, one answer in
# twenty comes from another passage, and no more of them are right (docs/decisions/0023). As many
# as may be shown are read, however low their scores.
READ_WITHIN = 0.25
# Fewer headings in a row are those of the text itself.
MIN_HEADINGS = 3
# The share of a line's characters in headings from which it lists them.
MIN_SHARE = 0.5
# A shorter heading is a word of any sentence.
MIN_HEADING_CHARS = 4
_NUMBER = re.compile(r"\A[\d.]+\s+")
_LINE = re.compile(r"\S[^\n]*")


def read_passages(
    question: str, passages: Sequence[Passage], *, reader: Reader, headings: Sequence[str] = ()
) -> list[Passage]:
    """Return the passages in the same order, the first ones with readings.

    Args:
        passages: Best first, by their own scores.
        headings: Lists of these within a passage are not read: they name topics only.

    Raises:
        BackendError: The reader failed.
    """
    least_score = passages[0].score - READ_WITHIN if passages else 0.0
    near = sum(passage.score >= least_score for passage in passages[:READ_COUNT])
    count = max(CLOSEST_COUNT, near)
    read = read_all(question, passages[:count], reader=reader, headings=headings)
    return [*read, *passages[count:]]


def read_all(
    question: str, passages: Sequence[Passage], *, reader: Reader, headings: Sequence[str] = ()
) -> list[Passage]:
    """Return all of the passages with their readings, like ``read_passages``.

    Raises:
        BackendError: The reader failed.
    """
    leads = [f"{passage.breadcrumb}\n" if passage.breadcrumb else "" for passage in passages]
    texts = [blank_heading_lists(passage.text, headings) for passage in passages]
    readings = reader.read(question, texts, leads=leads)
    return [
        replace(passage, reading=reading)
        for passage, reading in zip(passages, readings, strict=True)
    ]


def headings_of(passages: Iterable[Passage]) -> list[str]:
    """Return the titles and headings of passages without their numbers, the longest first."""
    headings = {
        _NUMBER.sub("", heading)
        for passage in passages
        for heading in (passage.title, *passage.heading_path)
    }
    long = [heading for heading in headings if len(heading) >= MIN_HEADING_CHARS]
    return sorted(long, key=len, reverse=True)


def blank_heading_lists(text: str, headings: Sequence[str]) -> str:
    """Return the text with spaces in place of lists of headings; its length stays."""
    here = [re.escape(heading) for heading in headings if heading in text]
    if not here:
        return text
    pattern = re.compile("|".join(here))

    def lists_headings(line: re.Match[str]) -> bool:
        return sum(map(len, pattern.findall(line[0]))) >= MIN_SHARE * len(line[0])

    for is_list, lines in groupby(_LINE.finditer(text), lists_headings):
        run = list(lines)
        start, end = run[0].start(), run[-1].end()
        if is_list and len(pattern.findall(text, start, end)) >= MIN_HEADINGS:
            text = text[:start] + " " * (end - start) + text[end:]
    return text
