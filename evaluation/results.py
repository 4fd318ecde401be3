"""What an evaluation found: figures with intervals, and what each question gave."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

RETRIEVAL, ANSWERS, CLAIMS = "retrieval", "answers", "claims"
MODES = (RETRIEVAL, ANSWERS, CLAIMS)

Observation = Mapping[str, float]
"""What one question gave, by name: shares and counts; times end in ``_ms``."""

Observations = Mapping[str, Mapping[str, Observation]]
"""By mode, then by the id of the query, the question, or the claim and its evidence."""


Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value.

    Attributes:
        mode: ``retrieval``, ``answers`` or ``claims``.
        value: None where no question bears on it.
        low: Lower end of the 95 % bootstrap interval; ``high`` the upper one.
        n: Questions that bear on it.
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


@dataclass(frozen=True, slots=True)
class Result:
    """One evaluation of one configuration.

    Attributes:
        dataset: Name of the data set, or ``collection-C`` for the owner's own questions.
        collection: What was searched.
        created_at: ISO 8601 with zone.
        k: Passages an answer is made from, and the depth of recall@k.
        counts: Documents, queries, questions.
        settings: What was in force, by the environment's names.
        timings: Median and 95th percentile of each node, in ms.
        by_kind: Of each kind of question, how many were right and where the others were lost.
        notes: What a reader must know to read the figures right.
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
    notes: tuple[str, ...] = ()
    observations: Observations = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a result back.

        Raises:
            KeyError, TypeError: It is no result.
        """
        figures = tuple(Figure(**figure) for figure in stored["figures"])
        return cls(**{**stored, "figures": figures, "notes": tuple(stored.get("notes", ()))})

    def figure(self, name: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.name == name), None)
