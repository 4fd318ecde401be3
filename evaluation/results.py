"""Results of an evaluation: metrics with intervals, and observations of each question."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from pydantic import TypeAdapter

RETRIEVAL, ANSWERS = "retrieval", "answers"
MODES = (RETRIEVAL, ANSWERS)
# Questions of another data set, if one is given.
FOREIGN = "foreign"

Observation = Mapping[str, float]
"""Figures of one question by name: shares and counts; times end in ``_ms``."""

Observations = Mapping[str, Mapping[str, Observation]]
"""By mode, then by the id of the query, the question, or the claim and its evidence."""


Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric's value.

    Attributes:
        mode: ``retrieval``, ``answers`` or ``foreign``.
        value: None if no question counts.
        low: Lower end of the 95 % bootstrap interval; ``high`` the upper one.
        n: Questions that count.
        better: ``higher`` or ``lower``.
    """

    name: str
    label: str
    mode: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    better: str


class FailureStage(StrEnum):
    """The first stage after which the right answer was missing."""

    NOT_FOUND = "not_found"  # no passage that the answerer was given holds it
    OTHER_PASSAGE = "other_passage"  # one does, and another was chosen
    OTHER_SENTENCE = "other_sentence"  # it stands in the passage chosen, beside what was drafted
    NOT_PROVED = "not_proved"  # it was drafted, and dropped for want of a proof
    REFUSED = "refused_right"  # it was drafted, and not said for want of confidence


Share = tuple[float, float, float]
"""A share and the ends of its 95 % interval."""


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """The effect of another ``PKB_ANSWER_FROM``.

    Attributes:
        said_count: Answers given.
        said_right: Share of them that is right; None without answers.
        answered_right: Share of answerable questions answered right; None without any.
    """

    answer_from: float
    said_count: int
    said_right: Share | None
    answered_right: Share | None


@dataclass(frozen=True, slots=True)
class Result:
    """The evaluation of one configuration.

    Attributes:
        dataset: Name of the data set, or ``collection-C`` for accepted questions.
        collection: The searched collection.
        created_at: ISO 8601 with zone.
        k: Passages for an answer, and the depth of recall@k.
        counts: Numbers of documents, queries and questions.
        settings: Active settings by environment name.
        timings: Median and 95th percentile of each node, in ms.
        by_kind: For each kind of question, how many were right, and where others were lost.
        thresholds: Results at several values of ``PKB_ANSWER_FROM``.
        notes: Caveats for readers.
    """

    dataset: str
    collection: str
    created_at: str
    k: int
    counts: Mapping[str, int]
    settings: Mapping[str, Any]
    figures: tuple[Figure, ...]
    timings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    by_kind: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    thresholds: tuple[ThresholdRow, ...] = ()
    notes: tuple[str, ...] = ()
    observations: Observations = field(default_factory=dict)

    @classmethod
    def from_json(cls, stored: object) -> Self:
        """Read a result back.

        Raises:
            ValueError: It is no result.
        """
        return TypeAdapter(cls).validate_python(stored)
