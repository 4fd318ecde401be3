"""Port for readers, which decide whether texts answer a question; one adapter per module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast

from django.conf import settings

from corpus.backends import BackendRegistry, LoadableModel
from qa.readers.heading_lists import blank_heading_lists
from qa.types import CLOSEST_COUNT, Passage, Reading

readers = BackendRegistry("PKB_READERS")


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


def get_reader() -> Reader:
    """Return the reader that ``PKB_READER`` names."""
    return cast("Reader", readers[settings.PKB_READER_MODEL])


# Best passages to read: more contain the answer hardly more often, and each takes time.
READ_COUNT = 10
# How far behind the best a passage's own score may be for it to be read: with 0.4, one answer in
# twenty comes from another passage, and no more of them are right (docs/decisions/0023). As many
# as may be shown are read, however low their scores.
READ_WITHIN = 0.25


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
