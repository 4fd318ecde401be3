"""How sure an answer is: a logistic model of what its evidence looks like."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa.types import Evidence

Matcher = Callable[[str, str, Sequence[tuple[int, int]]], NDArray[np.float32]]
Spans = Mapping[str, Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of the chance that an answer is right.

    Attributes:
        provenance: What it was fitted on, when, and how well it does.
    """

    relevance: float
    weakest_match: float
    intercept: float
    provenance: Mapping[str, Any]

    def estimate(self, evidence: Evidence) -> float:
        """Return the chance that the evidence answers the question, in [0, 1]."""
        logit = (
            self.intercept
            + self.relevance * evidence.relevance
            + self.weakest_match * evidence.weakest_match
        )
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


@cache
def read_calibration(path: Path) -> Calibration:
    """Read what ``Calibration.write`` wrote.

    Raises:
        ValueError: The file is missing or is none.
    """
    try:
        return Calibration(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as exc:
        raise ValueError(f"{path} is no calibration: {exc}") from exc


def match_question(question: str, quoted: Spans, *, match: Matcher) -> float:
    """Return how well the quoted spans match the question's token that they match worst.

    A question whose name, number or turn was changed has a token that nothing in the evidence
    answers to: over the adversarial questions of squad2 this separates better (AUROC .66) than
    the mean over all tokens (.62), than the cross-encoder (.64) and than missing words (.60).

    Args:
        quoted: Spans by the text that they are in, the passage as read.

    Returns:
        A cosine in [-1, 1]; 0 for a question without tokens.
    """
    matches = [match(question, text, spans) for text, spans in quoted.items()]
    best = np.concatenate(matches).max(axis=0)
    return float(best.min()) if best.size else 0.0
