"""Reranker behind a Cohere-compatible API (v2): Cohere, vLLM, proxies of TEI and others."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.tokens import clean_surrogates
from corpus.model_api import ModelApi

# Cohere takes up to 1,000 texts a request; fewer keep a request short.
BATCH_SIZE = 100
# Relevances of exactly 0 and 1 have no logit.
MIN_SHARE = 1e-6


class CohereReranker:
    """Call a server for relevances in [0, 1], and convert them to logits.

    Args:
        model: The model's name at the server.
        timeout_s: Time limit of one try.
    """

    def __init__(
        self, model: str, api_base: str, api_key: str = "", *, timeout_s: float = 60.0
    ) -> None:
        self.name = f"cohere/{model}"
        self._model = model
        self._api = ModelApi(self.name, base_url=api_base, api_key=api_key, timeout_s=timeout_s)

    @property
    def is_loaded(self) -> bool:
        return self._api.has_answered

    def load(self) -> None:
        """Call the server once.

        Raises:
            BackendError: It does not respond.
        """
        self.score("warm", ["warm"])

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,): the logit of each text's relevance, within 13.8 of 0.

        Raises:
            BackendError: The server failed.
        """
        shares = np.zeros(len(texts), np.float64)
        for start in range(0, len(texts), BATCH_SIZE):
            batch = texts[start : start + BATCH_SIZE]
            # The API takes neither an empty query nor an empty text.
            body = {
                "model": self._model,
                "query": clean_surrogates(query) or " ",
                "documents": [clean_surrogates(text) or " " for text in batch],
                "top_n": len(batch),
            }
            read_reply = partial(_read, count=len(batch))
            shares[start : start + len(batch)] = self._api.fetch(
                "/rerank", body, read=read_reply, wanted="relevance for each text"
            )
        shares = shares.clip(MIN_SHARE, 1 - MIN_SHARE)
        return np.log(shares / (1 - shares)).astype(np.float32)


def _read(reply: dict[str, Any], *, count: int) -> NDArray[np.float64]:
    relevance = {int(row["index"]): float(row["relevance_score"]) for row in reply["results"]}
    shares = np.array([relevance[i] for i in range(count)], np.float64)
    if len(relevance) > count or not np.isfinite(shares).all():
        raise ValueError("other texts, or no finite numbers")
    return shares
