"""Rerankers behind a model server: Cohere's and compatible APIs, vLLM, Infinity, TEI."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.tokens import clean_surrogates
from corpus.model_api import ModelApi

# Relevances of exactly 0 and 1 have no logit.
MIN_SHARE = 1e-6


class Protocol(NamedTuple):
    """The differences between servers.

    Attributes:
        texts: Key of the texts in a request.
        score: Key of a text's relevance in a reply.
        further: The rest of a request; servers that reject long texts are asked to cut them.
        batch_size: Maximum texts of a request. Cohere takes 1,000; fewer keep it short.
        names_model: Whether a request names the model, and how many results it wants.
    """

    texts: str = "documents"
    score: str = "relevance_score"
    further: Mapping[str, Any] = {}
    batch_size: int = 100
    names_model: bool = True


PROTOCOLS = {
    "cohere": Protocol(),
    "infinity": Protocol(),
    "vllm": Protocol(further={"truncate_prompt_tokens": -1}),
    # By default, TEI rejects more than 32 texts.
    "tei": Protocol("texts", "score", {"truncate": True}, 32, names_model=False),
}


class ServerReranker:
    """Call a server for relevances in [0, 1], and convert them to logits.

    Args:
        model: The model's name at the server.
        protocol: A key of ``PROTOCOLS``.
        timeout_s: Time limit of one try.
    """

    def __init__(
        self,
        model: str,
        api_base: str,
        api_key: str = "",
        *,
        protocol: str = "cohere",
        timeout_s: float = 60.0,
    ) -> None:
        self.name = f"{protocol}/{model}"
        self._model = model
        self._protocol = PROTOCOLS[protocol]
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
        batch_size = self._protocol.batch_size
        for start in range(0, len(texts), batch_size):
            batch = texts[start : start + batch_size]
            # The API takes neither an empty query nor an empty text.
            body = {
                **self._protocol.further,
                "query": clean_surrogates(query) or " ",
                self._protocol.texts: [clean_surrogates(text) or " " for text in batch],
            }
            if self._protocol.names_model:
                body |= {"model": self._model, "top_n": len(batch)}
            read = partial(self._read, count=len(batch))
            shares[start : start + len(batch)] = self._api.fetch(
                "rerank", body, read=read, wanted="relevance for each text"
            )
        shares = shares.clip(MIN_SHARE, 1 - MIN_SHARE)
        return np.log(shares / (1 - shares)).astype(np.float32)

    def _read(self, reply: Any, *, count: int) -> NDArray[np.float64]:
        rows = reply if isinstance(reply, list) else reply["results"]
        relevance = {int(row["index"]): float(row[self._protocol.score]) for row in rows}
        shares = np.array([relevance[i] for i in range(count)], np.float64)
        if len(relevance) > count or not np.isfinite(shares).all():
            raise ValueError("other texts, or no finite numbers")
        return shares
