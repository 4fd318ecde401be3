"""Port for rerankers, which score texts by relevance to a query; one adapter per module."""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import BackendRegistry, LoadableModel

rerankers = BackendRegistry("PKB_RERANKERS")


class Reranker(LoadableModel, Protocol):
    """Scores texts by relevance to a query."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,), one raw relevance per text, unbounded; higher is better."""
        ...


def get_reranker() -> Reranker:
    """Return the reranker that ``RERANKER_MODEL`` names."""
    return cast("Reranker", rerankers[settings.PKB_RERANKER_MODEL])


def get_judge() -> Reranker:
    """Return the cross-encoder that judges single sentences."""
    return cast("Reranker", rerankers[settings.PKB_JUDGE_MODEL])
