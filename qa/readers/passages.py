"""Read passages for the answer to a question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from qa.types import Passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qa.readers import Reader

# Passages that are read, the best ranked: more hold the answer hardly more often, and each costs.
READ_COUNT = 10
# How far behind the best a passage's own score may be for it to be read, after the first ones: what
# is farther behind is hardly ever the one that answers.
READ_WITHIN = 0.4
READ_LEAST = 3


def read_passages(
    question: str, passages: Sequence[Passage], *, reader: Reader, least: int = READ_LEAST
) -> list[Passage]:
    """Return the passages in the order they have, the first ones with their readings.

    Args:
        passages: Best first, by their own scores.
        least: How many are read, however far behind the best.

    Raises:
        BackendError: The reader failed.
    """
    least_score = passages[0].score - READ_WITHIN if passages else 0.0
    near = sum(passage.score >= least_score for passage in passages[:READ_COUNT])
    count = max(least, near)
    return [*read_all(question, passages[:count], reader=reader), *passages[count:]]


def read_all(question: str, passages: Sequence[Passage], *, reader: Reader) -> list[Passage]:
    """Return all of the passages with their readings.

    Raises:
        BackendError: The reader failed.
    """
    leads = [f"{passage.place}\n" if passage.place else "" for passage in passages]
    readings = reader.read(question, [passage.text for passage in passages], leads=leads)
    return [
        replace(passage, reading=reading)
        for passage, reading in zip(passages, readings, strict=True)
    ]
