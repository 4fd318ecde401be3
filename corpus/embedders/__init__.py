"""The interface by which pkb turns text into vectors."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corpus.backends import BackendRegistry, LoadableModel
from corpus.errors import BackendError

# Keyed by the rerankers that compare their vectors.
token_embedders: BackendRegistry[Any] = BackendRegistry("PKB_TOKEN_EMBEDDERS")


class Embedder(LoadableModel, Protocol):
    """Turns text into unit vectors of one model.

    Attributes:
        name: Name of the model; vectors of two models are never compared.
        dimension: Length of a vector, d.
        max_tokens: Maximum input in tokens of the model, without special tokens; longer text
            is cut off.
    """

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int: ...

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n, d), row i for ``texts[i]``, each of L2 norm 1.

        Raises:
            BackendError: The model or its server is missing or failed.
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return shape (d,), of L2 norm 1; raises as ``embed_passages``."""
        ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character span of each token, in order, special tokens left out."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens not counted."""
        ...


embedders: BackendRegistry[Embedder] = BackendRegistry("PKB_EMBEDDERS")


def get_embedder(name: str) -> Embedder:
    """Return the embedder with that name.

    Raises:
        ImproperlyConfigured: No such embedder is configured.
    """
    return embedders[name]


def embed_passages(texts: Sequence[str], *, embedder: Embedder) -> NDArray[np.float32]:
    """Return the vectors of passages, of which none is stored that cannot be compared.

    Raises:
        BackendError: The model failed, or what it gave is not of its form.
    """
    return _checked(embedder.embed_passages(texts), count=len(texts), embedder=embedder)


def embed_queries(texts: Sequence[str], *, embedder: Embedder) -> NDArray[np.float32]:
    """Return the vectors of queries; raises as ``embed_passages``."""
    vectors = [np.atleast_1d(embedder.embed_query(text)) for text in texts]
    for vector in vectors:
        _checked(vector[np.newaxis], count=1, embedder=embedder)
    return np.stack(vectors)


def _checked(
    vectors: NDArray[np.float32], *, count: int, embedder: Embedder
) -> NDArray[np.float32]:
    # Damaged weights give NaN, which Postgres would reject or store.
    if vectors.shape != (count, embedder.dimension) or not np.isfinite(vectors).all():
        raise BackendError(
            f"The model {embedder.name} gave no {count} vectors of {embedder.dimension} numbers."
        )
    return vectors
