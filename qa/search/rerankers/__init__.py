"""Port for rerankers, which score texts by relevance to a query; one adapter per module."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from corpus.backends import BackendRegistry, LoadableModel


class Reranker(LoadableModel, Protocol):
    """Scores texts by relevance to a query."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,), one raw relevance per text, unbounded; higher is better."""
        ...


# PKB_RERANKER_MODEL names the one that ranks passages, PKB_JUDGE_MODEL that of single sentences.
rerankers: BackendRegistry[Reranker] = BackendRegistry("PKB_RERANKERS")
