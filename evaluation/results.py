"""What an evaluation found: figures with intervals, and what each question gave."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

RETRIEVAL, ANSWERS, CLAIMS = "retrieval", "answers", "claims"
MODES = (RETRIEVAL, ANSWERS, CLAIMS)
# Questions of another data set, asked beside the answers where one is named.
FOREIGN = "foreign"

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
        mode: ``retrieval``, ``answers``, ``foreign`` or ``claims``.
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


Share = tuple[float, float, float]
"""A share and the ends of its 95 % interval."""


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """What would be said if ``PKB_ANSWER_FROM`` were another.

    Attributes:
        said_count: Answers that would be given.
        said_right: Share of them that is right; None where none would be given.
        answered_right: Share of the answerable questions; None where there are none.
    """

    answer_from: float
    said_count: int
    said_right: Share | None
    answered_right: Share | None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        shares = {
            name: stored[name] and tuple(stored[name]) for name in ("said_right", "answered_right")
        }
        return cls(**{**stored, **shares})


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
        thresholds: What would be said at several values of ``PKB_ANSWER_FROM``.
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
    thresholds: tuple[ThresholdRow, ...] = ()
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
        thresholds = tuple(map(ThresholdRow.from_json, stored.get("thresholds", ())))
        notes = tuple(stored.get("notes", ()))
        told = {"figures": figures, "thresholds": thresholds, "notes": notes}
        return cls(**{**stored, **told})

    def figure(self, name: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.name == name), None)
