"""The port through which texts are judged against a query; one adapter a file."""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import BackendRegistry, Model

rerankers = BackendRegistry("PKB_RERANKERS")


class Reranker(Model, Protocol):
    """Judges how well texts answer a query."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,), one raw relevance a text, unbounded, great is good."""
        ...


class Judge(Reranker, Protocol):
    """A reranker that reads question and text together, and tells what became of the question."""

    def read_question(self, query: str, text: str) -> NDArray[np.float32]:
        """Return shape (q, d): the states of the query's tokens, after the text was read."""
        ...


class TokenMatcher(Reranker, Protocol):
    """A reranker that tells which words of a query a text answers to."""

    def match_tokens(
        self, query: str, text: str, spans: Sequence[tuple[int, int]]
    ) -> NDArray[np.float32]:
        """Return shape (n, q): how well each span of the text matches each token of the query."""
        ...

    def query_token_spans(self, query: str) -> list[tuple[int, int]]:
        """Return the half-open character span of each query token that is compared."""
        ...


def get_reranker() -> Reranker:
    """Return the reranker that ``RERANKER_MODEL`` names."""
    return cast("Reranker", rerankers[settings.PKB_RERANKER_MODEL])


def get_judge() -> Judge:
    """Return what judges single sentences, as answers and as support: a cross-encoder."""
    return cast("Judge", rerankers[settings.PKB_JUDGE_MODEL])


def get_matcher() -> TokenMatcher:
    """Return what compares sentences and questions word by word."""
    return cast("TokenMatcher", rerankers[settings.PKB_MATCHER_MODEL])
