"""How sure an answer is: a logistic model of what its evidence looks like.

A cross-encoder learned relevance: a question with one word changed, to which the text holds no
answer, scores as before. Its inner layers still tell, for each word of the question, whether the
text had something for it. A small head reads them.
"""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from qa.sigmoid import sigmoid
from qa.types import Evidence

if TYPE_CHECKING:
    from qa.search.rerankers import Judge, TokenMatcher


@dataclass(frozen=True, slots=True, eq=False)
class AnswerabilityHead:
    """Two dense layers over each token of the question, pooled.

    Attributes:
        hidden: float32, shape (d + 1, h); the last row is the bias.
        output: float32, shape (h + 1, 2): a token's doubt, and its weight among the tokens.
    """

    hidden: NDArray[np.float32]
    output: NDArray[np.float32]

    def estimate(self, states: NDArray[np.float32]) -> float:
        """Return the logit of the text answering the question, unbounded.

        Args:
            states: Of the question's tokens after the text was read, shape (q, d).
        """
        inner = np.maximum(states @ self.hidden[:-1] + self.hidden[-1], 0.0)
        doubts, weights = (inner @ self.output[:-1] + self.output[-1]).T
        shares = np.exp(weights - weights.max())
        return -float(doubts @ shares / shares.sum())

    def dump(self) -> str:
        """Return it as text, in half precision."""
        packed = io.BytesIO()
        hidden, output = self.hidden.astype(np.float16), self.output.astype(np.float16)
        np.savez_compressed(packed, hidden=hidden, output=output)
        return base64.b64encode(packed.getvalue()).decode()

    @classmethod
    def load(cls, dumped: str) -> AnswerabilityHead:
        """Read what ``dump`` wrote.

        Raises:
            ValueError: It is none.
        """
        try:
            with np.load(io.BytesIO(base64.b64decode(dumped, validate=True))) as arrays:
                hidden, output = (arrays[name].astype(np.float32) for name in ("hidden", "output"))
        except (KeyError, OSError, EOFError, BadZipFile) as exc:
            raise ValueError(f"no answerability head: {exc}") from exc
        if hidden.ndim != 2 or output.shape != (hidden.shape[1] + 1, 2):  # noqa: PLR2004  (axes)
            raise ValueError(f"no answerability head: {hidden.shape} and {output.shape}")
        return cls(hidden, output)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of the chance that an answer is right.

    Attributes:
        head: Reads the evidence's answerability from the question's states.
        provenance: What it was fitted on, when, and how well it does.
    """

    relevance: float
    weakest_match: float
    answerability: float
    intercept: float
    head: AnswerabilityHead
    provenance: Mapping[str, Any]

    def estimate(self, evidence: Evidence) -> float:
        """Return the chance that the evidence answers the question, in [0, 1]."""
        logit = (
            self.intercept
            + self.relevance * evidence.relevance
            + self.weakest_match * evidence.weakest_match
            + self.answerability * evidence.answerability
        )
        return sigmoid(logit)

    def write(self, path: Path) -> None:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["head"] = self.head.dump()
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


@cache
def read_calibration(path: Path) -> Calibration:
    """Read what ``Calibration.write`` wrote.

    Raises:
        ValueError: The file is missing or is none.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Calibration(**values | {"head": AnswerabilityHead.load(values["head"])})
    except (KeyError, OSError, TypeError, ValueError) as exc:
        raise ValueError(f"{path} is no calibration: {exc}") from exc


class EvidenceBuilder:
    """Evidence as quotes come in. With each it stays or grows, and so does the confidence.

    A question whose name, number or turn was changed has a token that nothing in the evidence
    answers to: so the worst matched token counts, not the mean, and what the cross-encoder's
    inner layer knows of each token (docs/decisions/0009).
    """

    def __init__(
        self, question: str, *, judge: Judge, matcher: TokenMatcher, head: AnswerabilityHead
    ) -> None:
        self._question = question
        self._judge = judge
        self._matcher = matcher
        self._head = head
        self._relevance = -math.inf
        self._matches: NDArray[np.float32] | None = None
        self._quotes: list[str] = []
        self._answerability = -math.inf

    def add(self, quote: str, *, text: str, span: tuple[int, int]) -> Evidence:
        """Return the evidence with this quote, which is a span of a passage's text."""
        (relevance,) = self._judge.score(self._question, [quote])
        self._relevance = max(self._relevance, float(relevance))
        (matches,) = self._matcher.match_tokens(self._question, text, [span])
        self._matches = matches if self._matches is None else np.maximum(self._matches, matches)
        weakest = float(self._matches.min()) if self._matches.size else 0.0
        self._quotes.append(quote)
        states = self._judge.read_question(self._question, " ".join(self._quotes))
        self._answerability = max(self._answerability, self._head.estimate(states))
        return Evidence(self._relevance, weakest, self._answerability)
