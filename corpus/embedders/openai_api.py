"""Embedders with an OpenAI-compatible API: OpenAI, vLLM, Ollama, TEI and others."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.tokens import clean_surrogates, find_cl100k_spans
from corpus.errors import BackendError
from corpus.model_api import ModelApi

# Length of a vector, unless ``dimensions`` is lower.
NATIVE_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
SHORTENED = ("text-embedding-3-",)
# OpenAI's limits: tokens of an input, and below its 300,000 tokens of a request.
MAX_TOKENS = 8_191
MAX_REQUEST_TOKENS = 250_000


class OpenAIEmbedder:
    """Requests vectors from a server; counts tokens as OpenAI's models do (cl100k).

    Whitespace alone is not counted. A text over ``max_tokens`` is cut before it is sent.

    Args:
        model: The model's name at the server.
        dimension: Length of a vector; requested from OpenAI's third-generation models, while others
            must have it. Part of the name, because other vectors are not comparable.
        batch_size: Maximum texts of a request.
        timeout_s: Timeout of one attempt.
    """

    def __init__(
        self,
        model: str,
        api_base: str,
        api_key: str = "",
        dimension: int | str | None = None,
        *,
        batch_size: int = 64,
        max_tokens: int = MAX_TOKENS,
        timeout_s: float = 60.0,
    ) -> None:
        self.name = f"openai/{model}@{dimension}" if dimension else f"openai/{model}"
        self.dimension = int(dimension or NATIVE_DIMENSIONS[model])
        self.max_tokens = max_tokens
        self._model = model
        self._batch_size = batch_size
        self._api = ModelApi(self.name, base_url=api_base, api_key=api_key, timeout_s=timeout_s)

    @property
    def is_loaded(self) -> bool:
        return self._api.has_answered

    def load(self) -> None:
        """Send one request to the server.

        Raises:
            BackendError: It does not answer, or its vectors have another length.
        """
        self.embed_passages(["warm"])

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n, d), row i for ``texts[i]``, each of L2 norm 1.

        Raises:
            BackendError: The server failed.
        """
        vectors = np.empty((len(texts), self.dimension), np.float32)
        start = 0
        for batch in self._batches([self._cut(text) for text in texts]):
            vectors[start : start + len(batch)] = self._embed(batch)
            start += len(batch)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return shape (d,), of L2 norm 1.

        Raises:
            BackendError: The server failed.
        """
        vector: NDArray[np.float32] = self.embed_passages([text])[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character span of each token, without whitespace."""
        clean = clean_surrogates(text)
        stripped = [_strip(clean, start, end) for start, end in find_cl100k_spans(clean)]
        return [span for span in stripped if span is not None]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(self.token_spans(text)) for text in texts]

    def _cut(self, text: str) -> tuple[str, int]:
        """Return the text to send and its tokens; the API rejects empty text."""
        clean = clean_surrogates(text)
        spans = find_cl100k_spans(clean)
        if len(spans) > self.max_tokens:
            clean = clean[: spans[self.max_tokens][0]]
        return clean or " ", min(len(spans), self.max_tokens)

    def _batches(self, texts: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text, count in texts:
            if batch and (len(batch) == self._batch_size or tokens + count > MAX_REQUEST_TOKENS):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += count
        if batch:
            yield batch

    def _embed(self, batch: Sequence[str]) -> NDArray[np.float32]:
        body: dict[str, Any] = {"model": self._model, "input": batch, "encoding_format": "float"}
        native = NATIVE_DIMENSIONS.get(self._model)
        if self._model.startswith(SHORTENED) and self.dimension != native:
            body["dimensions"] = self.dimension
        read = partial(self._read, count=len(batch))
        return self._api.fetch("/embeddings", body, read=read, wanted="vectors")

    def _read(self, reply: dict[str, Any], *, count: int) -> NDArray[np.float32]:
        rows = sorted(reply["data"], key=lambda row: row["index"])
        found = np.array([row["embedding"] for row in rows], np.float32)
        if found.shape != (count, self.dimension):
            raise BackendError(
                f"{self.name}: {count} vectors of {self.dimension} numbers were asked for, "
                f"the reply has shape {found.shape}."
            )
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise BackendError(f"{self.name}: a vector has no direction.")
        unit: NDArray[np.float32] = found / norms
        return unit


def _strip(text: str, start: int, end: int) -> tuple[int, int] | None:
    token = text[start:end]
    kept = token.strip()
    if not kept:
        return None
    first = start + len(token) - len(token.lstrip())
    return first, first + len(kept)
