"""Rerank the texts of a request by relevance to a query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corpus.errors import ModelNotFound
from qa.grounding.confidence import sigmoid
from qa.search.rerankers import get_reranker


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text with its ``relevance`` in [0, 1]; higher is better."""

    index: int
    text: str
    relevance: float


def rank_texts(query: str, texts: Sequence[str], *, model: str = "") -> list[Ranked]:
    """Return all texts, best first; ties keep their order.

    Raises:
        ModelNotFound: ``model`` is given and is not the configured reranker.
        BackendError: The model failed.
    """
    reranker = get_reranker()
    if model and model != reranker.name:
        raise ModelNotFound(f"There is no reranker {model!r}. Available: {reranker.name!r}.")
    raw = reranker.score(query, texts)
    order = np.argsort(-raw, kind="stable")
    return [Ranked(int(index), texts[index], sigmoid(float(raw[index]))) for index in order]
