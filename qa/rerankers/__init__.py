"""The port through which texts are judged against a query; one adapter a file."""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import BackendRegistry

rerankers = BackendRegistry("PKB_RERANKERS")


class Reranker(Protocol):
    """Judges how well texts answer a query."""

    @property
    def name(self) -> str: ...

    @property
    def is_loaded(self) -> bool: ...

    def load(self) -> None:
        """Load the weights and run them once.

        Raises:
            BackendError: The model is missing or does not load.
        """
        ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,), one raw relevance a text, unbounded, great is good."""
        ...


def get_reranker() -> Reranker:
    """Return the reranker that ``RERANKER_MODEL`` names."""
    return cast("Reranker", rerankers[settings.PKB_RERANKER_MODEL])
