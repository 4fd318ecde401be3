"""Embedders behind a model server: OpenAI's and compatible APIs, vLLM, Infinity, Ollama, TEI."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.tokens import clean_surrogates, count_cl100k_tokens, find_cl100k_spans
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


def _rows(reply: Any) -> list[Any]:
    return [row["embedding"] for row in sorted(reply["data"], key=lambda row: row["index"])]


class Protocol(NamedTuple):
    """The differences between servers.

    Attributes:
        path: Added to the server's address.
        inputs: Key of the texts in a request.
        further: The rest of a request; servers that reject long texts are asked to cut them.
        read: Returns the vectors of a reply, in the order of the texts.
        batch_size: Maximum texts of a request.
        names_model: Whether a request names the model.
    """

    path: str = "embeddings"
    inputs: str = "input"
    further: Mapping[str, Any] = {"encoding_format": "float"}
    read: Callable[[Any], list[Any]] = _rows
    batch_size: int = 64
    names_model: bool = True


PROTOCOLS = {
    "openai": Protocol(),
    "infinity": Protocol(),
    "vllm": Protocol(
        "v1/embeddings", further={"encoding_format": "float", "truncate_prompt_tokens": -1}
    ),
    "ollama": Protocol(
        "api/embed", further={"truncate": True}, read=lambda reply: list(reply["embeddings"])
    ),
    # By default, TEI rejects more than 32 texts.
    "tei": Protocol("embed", "inputs", {"truncate": True}, list, 32, names_model=False),
}


class ServerEmbedder:
    """An ``Embedder`` at a server; counts tokens as OpenAI's models do (cl100k).

    Whitespace alone is not counted. A text over ``max_tokens`` is cut before it is sent.

    Args:
        model: The model's name at the server.
        protocol: A key of ``PROTOCOLS``.
        dimension: Length of a vector; requested from OpenAI's third-generation models, while others
            must have it. Part of the name, because other vectors are not comparable.
        query_prefix, document_prefix: Text before each query and each passage.
        batch_size: Maximum texts of a request; None: as the protocol allows.
        timeout_s: Timeout of one attempt.
    """

    def __init__(
        self,
        model: str,
        api_base: str,
        api_key: str = "",
        dimension: int | str | None = None,
        *,
        protocol: str = "openai",
        query_prefix: str = "",
        document_prefix: str = "",
        batch_size: int | None = None,
        max_tokens: int = MAX_TOKENS,
        timeout_s: float = 60.0,
    ) -> None:
        self.name = f"{protocol}/{model}@{dimension}" if dimension else f"{protocol}/{model}"
        self.dimension = int(dimension or NATIVE_DIMENSIONS[model])
        self.max_tokens = max_tokens - max(
            count_cl100k_tokens(prefix) for prefix in (query_prefix, document_prefix)
        )
        self._model = model
        self._protocol = PROTOCOLS[protocol]
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._batch_size = batch_size or self._protocol.batch_size
        self._api = ModelApi(self.name, base_url=api_base, api_key=api_key, timeout_s=timeout_s)

    @property
    def is_loaded(self) -> bool:
        return self._api.has_answered

    def load(self) -> None:
        """Send one request to the server."""
        self.embed_passages(["warm"])

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(texts, prefix=self._document_prefix)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed([text], prefix=self._query_prefix)[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character span of each token, without whitespace."""
        clean = clean_surrogates(text)
        spans: list[tuple[int, int]] = []
        for start, end in find_cl100k_spans(clean):
            token = clean[start:end]
            if bare := token.strip():
                first = start + len(token) - len(token.lstrip())
                spans.append((first, first + len(bare)))
        return spans

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self.token_spans(text)) for text in texts]

    def _embed(self, texts: Sequence[str], *, prefix: str) -> NDArray[np.float32]:
        inputs: list[tuple[str, int]] = []
        for text in texts:
            clean = clean_surrogates(text)
            spans = find_cl100k_spans(clean)
            if len(spans) > self.max_tokens:
                clean = clean[: spans[self.max_tokens][0]]
            # The API rejects empty text.
            inputs.append((prefix + clean or " ", min(len(spans), self.max_tokens)))
        body: dict[str, Any] = dict(self._protocol.further)
        if self._protocol.names_model:
            body["model"] = self._model
        native = NATIVE_DIMENSIONS.get(self._model)
        if self._model.startswith(SHORTENED) and self.dimension != native:
            body["dimensions"] = self.dimension
        batches: list[list[str]] = []
        tokens = 0
        for text, count in inputs:
            tokens += count
            if not batches or len(batches[-1]) == self._batch_size or tokens > MAX_REQUEST_TOKENS:
                batches.append([])
                tokens = count
            batches[-1].append(text)
        vectors = [np.empty((0, self.dimension), np.float32)]
        for batch in batches:
            read = partial(self._read, count=len(batch))
            sent = {**body, self._protocol.inputs: batch}
            vectors.append(self._api.fetch(self._protocol.path, sent, read=read, wanted="vectors"))
        return np.concatenate(vectors)

    def _read(self, reply: Any, *, count: int) -> NDArray[np.float32]:
        vectors = np.array(self._protocol.read(reply), np.float32)
        if vectors.shape != (count, self.dimension):
            raise BackendError(
                f"{self.name}: {count} vectors of {self.dimension} numbers were asked for, "
                f"the reply has shape {vectors.shape}."
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise BackendError(f"{self.name}: a vector has no direction.")
        unit: NDArray[np.float32] = vectors / norms
        return unit
