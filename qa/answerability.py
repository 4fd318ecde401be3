"""Does a text answer a question, or is it only about it: a small head on the cross-encoder.

A cross-encoder learned relevance: a question with one word changed, to which the text holds no
answer, scores as before. Its inner layers still tell, for each word of the question, whether the
text had something for it. The head reads them.
"""

import base64
import io
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray


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
    def load(cls, dumped: str) -> "AnswerabilityHead":
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
