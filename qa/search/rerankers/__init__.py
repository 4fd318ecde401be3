"""The port through which texts are judged against a query; one adapter a file."""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import BackendRegistry, LoadableModel

rerankers = BackendRegistry("PKB_RERANKERS")


class Reranker(LoadableModel, Protocol):
    """Judges how well texts answer a query."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,), one raw relevance a text, unbounded, great is good."""
        ...


def get_reranker() -> Reranker:
    """Return the reranker that ``RERANKER_MODEL`` names."""
    return cast("Reranker", rerankers[settings.PKB_RERANKER_MODEL])


def get_judge() -> Reranker:
    """Return what judges single sentences, as answers and as support: a cross-encoder."""
    return cast("Reranker", rerankers[settings.PKB_JUDGE_MODEL])
