"""The real models, which compute a thing once for all tests of a process."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.onnx import OnnxEmbedder
from pkb import settings as configured
from qa.rerankers.cross_encoder import CrossEncoderReranker

EMBEDDER, RERANKER = "all-MiniLM-L6-v2", "ms-marco-MiniLM-L-12-v2"
REMEMBERING: dict[str, Any] = {
    "PKB_EMBEDDERS": {EMBEDDER: {"BACKEND": "tests.remembering.RememberingEmbedder"}},
    "PKB_RERANKERS": {RERANKER: {"BACKEND": "tests.remembering.RememberingReranker"}},
}

_scores: dict[tuple[str, str], float] = {}
_vectors: dict[str, NDArray[np.float32]] = {}


@cache
def _reranker() -> CrossEncoderReranker:
    return CrossEncoderReranker(**configured.PKB_RERANKERS[RERANKER]["OPTIONS"])


@cache
def _embedder() -> OnnxEmbedder:
    return OnnxEmbedder(**configured.PKB_EMBEDDERS[EMBEDDER]["OPTIONS"])


class RememberingReranker:
    """Judges as the real one does; with ``direction`` -1, the worst comes first."""

    name = RERANKER
    is_loaded = True

    def __init__(self, *, direction: int = 1) -> None:
        self.direction = direction

    def load(self) -> None:
        _reranker().load()

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if (query, text) not in _scores]
        if new:
            raw = _reranker().score(query, new)
            _scores.update(((query, text), float(s)) for text, s in zip(new, raw, strict=True))
        return np.array([_scores[query, text] for text in texts], np.float32) * self.direction


class RememberingEmbedder:
    name = EMBEDDER
    is_loaded = True

    @property
    def dimension(self) -> int:
        return _embedder().dimension

    @property
    def max_tokens(self) -> int:
        return _embedder().max_tokens

    def load(self) -> None:
        _embedder().load()

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in _vectors]
        if new:
            _vectors.update(zip(new, _embedder().embed_passages(new), strict=True))
        return np.stack([_vectors[text] for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return _embedder().embed_query(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return _embedder().token_spans(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return _embedder().count_tokens(texts)
