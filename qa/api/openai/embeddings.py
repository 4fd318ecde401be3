"""Embeddings of texts that are not stored."""

import base64
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corpus.embedders import embed_passages, embedders, get_embedder
from corpus.errors import InvalidInput, ModelNotFound


def embed_texts(
    texts: Sequence[str], *, model: str, dimensions: int | None = None
) -> tuple[NDArray[np.float32], int]:
    """Embed texts as passages.

    Args:
        dimensions: Keep only the first dimensions, renormalized to L2 norm 1; None keeps all.

    Returns:
        Float32 of shape (n, d), rows of L2 norm 1, and the number of tokens of all texts.

    Raises:
        ModelNotFound: No such embedder is configured.
        InvalidInput: The model has fewer dimensions.
        BackendError: The model failed.
    """
    if model not in embedders:
        names = ", ".join(embedders.names)
        raise ModelNotFound(f"The model {model!r} is not configured. Available: {names}.")
    embedder = get_embedder(model)
    wanted = dimensions or embedder.dimension
    if wanted > embedder.dimension:
        detail = f"The model {model!r} has {embedder.dimension} dimensions."
        raise InvalidInput(detail, field="dimensions")
    vectors = embed_passages(texts, embedder=embedder)[:, :wanted]
    norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return (vectors / norms).astype(np.float32), sum(embedder.count_tokens(texts))


def as_base64(vector: NDArray[np.float32]) -> str:
    """Encode a vector as little-endian float32."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
