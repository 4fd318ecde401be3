"""How sure an answer is: a logistic model of what the passage it quotes looks like."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from qa.types import Evidence, Passage, Reading

# Further out a float tells no chance from 0 or 1, and from 710 on the exponential overflows.
MOST_LOGIT = 60.0


def sigmoid(logit: float) -> float:
    """Return the chance of a logit, in [0, 1]."""
    return 1 / (1 + math.exp(-max(-MOST_LOGIT, min(MOST_LOGIT, logit))))


FEATURES = tuple(field.name for field in fields(Evidence))
# What a passage's own score of 1 adds to the reader's logit: docs/decisions/0023.
SCORE_WEIGHT = 16.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The chance that a quoted passage answers rightly.

    Attributes:
        weights: By the names of what an evidence has.
        provenance: What it was fitted on, when, and how well it does.
    """

    weights: Mapping[str, float] = field(hash=False)
    intercept: float
    provenance: Mapping[str, Any] = field(hash=False)

    def estimate(self, evidence: Evidence) -> float:
        """Return the chance, in [0, 1]."""
        told = asdict(evidence)
        return sigmoid(self.intercept + sum(self.weights[name] * told[name] for name in FEATURES))


# A draft's confidence where ``calibrate --lm`` was not run for the model. That a model which knows
# true statements from false ones chose the passage counts for more than how it reads: of 66
# drafts 18 cite nothing with a reading over -8 (docs/decisions/0053).
DRAFT_CALIBRATION = Calibration(
    weights={"reading": 0.1, "behind": 0.0}, intercept=2.2, provenance={}
)


def gather_evidence(passages: Sequence[Passage]) -> dict[str, Evidence]:
    """Return what each of the passages found that was read looks like, by its chunk."""
    best = max((passage.score for passage in passages), default=0.0)
    return {
        passage.chunk_id: Evidence(passage.reading.score, behind=passage.score - best)
        for passage in passages
        if passage.reading is not None
    }


def likeliest_first(passages: Sequence[Passage]) -> list[tuple[Passage, Reading]]:
    """Return the passages that were read, with what was found, by how likely they answer.

    The newest that answers otherwise than the likeliest comes before it.
    """
    read = [(passage, passage.reading) for passage in passages if passage.reading is not None]
    return sorted(read, key=lambda each: (not each[0].is_newest, -weigh(*each)))


def weigh(passage: Passage, reading: Reading) -> float:
    """Return how likely a passage that was found answers beside the others, as a logit."""
    return reading.score + SCORE_WEIGHT * passage.score


def write_calibration(path: Path, reader: str, calibration: Calibration) -> None:
    """Keep a reader's calibration in the file, beside those of other readers."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        found = {}
    kept = found if isinstance(found, dict) else {}
    text = json.dumps({**kept, reader: asdict(calibration)}, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


@cache
def read_calibration(path: Path, reader: str) -> Calibration:
    """Read what ``write_calibration`` wrote for a reader.

    Raises:
        ValueError: The file is missing, is none, or has nothing for the reader.
    """
    try:
        return _find(json.loads(path.read_text(encoding="utf-8")), reader)
    except (AttributeError, OSError, TypeError, ValueError) as exc:
        raise ValueError(
            f"{path} is no calibration for this service: {exc}. manage.py calibrate makes one."
        ) from exc


def read_draft_calibration(path: Path, reader: str, model: str) -> Calibration:
    """Return the calibration of a model's drafts, or the usual one."""
    try:
        return read_calibration(path, draft_key(reader, model))
    except ValueError:
        return DRAFT_CALIBRATION


def draft_key(reader: str, model: str) -> str:
    """Return the name by which the calibration of a model's drafts is kept."""
    return f"{reader}, drafts of {model}"


def _find(calibrations: Mapping[str, Any], reader: str) -> Calibration:
    if reader not in calibrations:
        raise ValueError(f"it has nothing for the reader {reader!r}")
    calibration = Calibration(**calibrations[reader])
    numbers: Sequence[Any] = [*calibration.weights.values(), calibration.intercept]
    if set(calibration.weights) != set(FEATURES) or not all(map(math.isfinite, numbers)):
        raise ValueError(f"its weights are not those of {', '.join(FEATURES)}")
    return calibration
