"""Confidence of an answer: a logistic model of features of the quoted passage."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from qa.types import Evidence, Passage, Reading

# Beyond this, a float cannot distinguish the probability from 0 or 1; exp overflows at 710.
MAX_LOGIT = 60.0


def sigmoid(logit: float) -> float:
    """Return the probability of a logit, in [0, 1]."""
    return 1 / (1 + math.exp(-max(-MAX_LOGIT, min(MAX_LOGIT, logit))))


def logit(probability: float) -> float:
    """Return the logit of a probability; the inverse of ``sigmoid`` within its bounds."""
    if not 0 < probability < 1:
        return math.copysign(MAX_LOGIT, probability - 0.5)
    return math.log(probability / (1 - probability))


FEATURES = tuple(field.name for field in fields(Evidence))
# Logits that a passage's own score of 1 adds to the reader's: docs/decisions/0023.
SCORE_WEIGHT = 16.0
# The most logits by which a passage counts as ahead of others, and what it counts as where no other
# answer was read: of 6 to 16 and 0 to 9, what separates right from wrong best, in collections of
# one document, too (docs/decisions/0023).
MAX_AHEAD = 9.0
ALONE_AHEAD = 5.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Estimates the probability that a quoted passage answers correctly.

    Attributes:
        weights: By the field names of ``Evidence``.
        provenance: What it was fitted on, when, and its scores.
    """

    weights: Mapping[str, float] = field(hash=False)
    intercept: float
    provenance: Mapping[str, Any] = field(hash=False)

    def estimate(self, evidence: Evidence) -> float:
        """Return the probability, in [0, 1]."""
        features = asdict(evidence)
        return sigmoid(
            self.intercept + sum(self.weights[name] * features[name] for name in FEATURES)
        )

    def scaled(self, slope: float, offset: float) -> Calibration:
        """Return the calibration whose logit is ``slope`` times this one's, plus ``offset``."""
        weights = {name: slope * weight for name, weight in self.weights.items()}
        return replace(self, weights=weights, intercept=slope * self.intercept + offset)


# A draft's confidence where ``calibrate --lm`` was not run for the model. That a model which knows
# true statements from false ones chose the passage counts for more than how it reads: of 66
# drafts 18 cite nothing with a reading over -8 (docs/decisions/0053).
DRAFT_CALIBRATION = Calibration(
    weights={"reading": 0.1, "behind": 0.0, "ahead": 0.0}, intercept=2.2, provenance={}
)


def gather_evidence(passages: Sequence[Passage]) -> dict[str, Evidence]:
    """Return the evidence of each passage that was read, by chunk id."""
    best = max((passage.score for passage in passages), default=0.0)
    read = likeliest_first(passages)
    return {
        passage.chunk_id: Evidence(
            reading.score,
            behind=passage.score - best,
            ahead=_lead(passage, reading, read),
        )
        for passage, reading in read
    }


def _lead(passage: Passage, reading: Reading, others: Sequence[tuple[Passage, Reading]]) -> float:
    """Return ``Evidence.ahead``.

    Passages that mark the same words are no rivals, nor are those that the passage disagrees with:
    both are shown.
    """
    words = _marked_words(passage, reading)
    rivals = [
        answer_logit(*other)
        for other in others
        if _marked_words(*other) != words
        if other[0].chunk_id not in passage.disagrees_with
    ]
    lead = answer_logit(passage, reading) - max(rivals) if rivals else ALONE_AHEAD
    return min(lead, MAX_AHEAD)


def _marked_words(passage: Passage, reading: Reading) -> list[str]:
    return passage.text[reading.start : reading.end].casefold().split()


def likeliest_first(passages: Sequence[Passage]) -> list[tuple[Passage, Reading]]:
    """Return passages with their readings, most likely answer first.

    A newer passage that disagrees with the likeliest comes before it.
    """
    read = [(passage, passage.reading) for passage in passages if passage.reading is not None]
    return sorted(read, key=lambda each: (not each[0].is_newest, -answer_logit(*each)))


def answer_logit(passage: Passage, reading: Reading) -> float:
    """Return how likely a passage answers compared with the others, as a logit."""
    return reading.score + SCORE_WEIGHT * passage.score


def write_calibration(path: Path, reader: str, calibration: Calibration) -> None:
    """Write a reader's calibration to the file and keep those of other readers."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        stored = {}
    calibrations = stored if isinstance(stored, dict) else {}
    text = json.dumps({**calibrations, reader: asdict(calibration)}, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


@cache
def read_calibration(path: Path, reader: str) -> Calibration:
    """Read a reader's calibration.

    Raises:
        ValueError: The file is missing or invalid, or has nothing for the reader.
    """
    try:
        return _find(json.loads(path.read_text(encoding="utf-8")), reader)
    except (AttributeError, OSError, TypeError, ValueError) as exc:
        raise ValueError(
            f"{path} is no calibration for this service: {exc}. manage.py calibrate makes one."
        ) from exc


def read_draft_calibration(path: Path, reader: str, model: str) -> Calibration:
    """Return the calibration of a model's drafts, or the default one."""
    try:
        return read_calibration(path, draft_key(reader, model))
    except ValueError:
        return DRAFT_CALIBRATION


def draft_key(reader: str, model: str) -> str:
    return f"{reader}, drafts of {model}"


def _find(calibrations: Mapping[str, Any], reader: str) -> Calibration:
    if reader not in calibrations:
        raise ValueError(f"it has nothing for the reader {reader!r}")
    calibration = Calibration(**calibrations[reader])
    # A fit of an earlier version does not know all features.
    weights = {**dict.fromkeys(FEATURES, 0.0), **calibration.weights}
    calibration = replace(calibration, weights=weights)
    numbers: Sequence[Any] = [*calibration.weights.values(), calibration.intercept]
    if set(calibration.weights) != set(FEATURES) or not all(map(math.isfinite, numbers)):
        raise ValueError(f"its weights are not numbers for {', '.join(FEATURES)}")
    return calibration
