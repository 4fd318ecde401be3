"""Read passages for the answer to a question, and order them by what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from qa.types import Passage, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qa.readers import Reader

# What a passage's own score of 1 adds to the reader's logit: docs/decisions/0023.
SCORE_WEIGHT = 16.0
# Passages that are read, the best ranked: more hold the answer hardly more often, and each costs.
READ_COUNT = 10


def read_passages(question: str, passages: Sequence[Passage], *, reader: Reader) -> list[Passage]:
    """Return the passages in the order they have, the first ``READ_COUNT`` with their readings.

    Raises:
        BackendError: The reader failed.
    """
    read, others = passages[:READ_COUNT], passages[READ_COUNT:]
    leads = [f"{passage.place}\n" if passage.place else "" for passage in read]
    readings = reader.read(question, [passage.text for passage in read], leads=leads)
    told = [
        replace(passage, reading=reading) for passage, reading in zip(read, readings, strict=True)
    ]
    return [*told, *others]


def likeliest_first(passages: Sequence[Passage]) -> list[tuple[Passage, Reading]]:
    """Return the passages that were read, with what was found, by how likely they answer."""
    read = [(passage, passage.reading) for passage in passages if passage.reading is not None]
    return sorted(read, key=lambda each: -each[1].score - SCORE_WEIGHT * each[0].score)
