"""A reranker that keeps the order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class IdentityReranker:
    """Scores all texts alike, so that their order stays."""

    name = "none"
    is_loaded = True

    def load(self) -> None:
        """Do nothing: there are no weights."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,), all 0."""
        return np.zeros(len(texts), np.float32)
