"""The real models, which compute a thing once for all tests of a process."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from django.utils.module_loading import import_string
from numpy.typing import NDArray

from corpus.embedders import Embedder
from pkb import settings as configured
from qa.search.rerankers.cross_encoder import CrossEncoderReranker
from qa.search.rerankers.late_interaction import LateInteractionReranker

EMBEDDER = configured.PKB_EMBEDDING_MODEL
JUDGE, MATCHER = configured.PKB_JUDGE_MODEL, configured.PKB_MATCHER_MODEL
REMEMBERING: dict[str, Any] = {
    "PKB_EMBEDDERS": {
        **configured.PKB_EMBEDDERS,
        EMBEDDER: {"BACKEND": "tests.remembering.RememberingEmbedder"},
    },
    "PKB_RERANKERS": {
        JUDGE: {"BACKEND": "tests.remembering.RememberingJudge"},
        MATCHER: {"BACKEND": "tests.remembering.RememberingMatcher"},
    },
}

_scores: dict[tuple[str, str], float] = {}
_states: dict[tuple[str, str], NDArray[np.float32]] = {}
_vectors: dict[str, NDArray[np.float32]] = {}


@cache
def _judge() -> CrossEncoderReranker:
    return CrossEncoderReranker(**configured.PKB_RERANKERS[JUDGE]["OPTIONS"])


@cache
def _matcher() -> LateInteractionReranker:
    return LateInteractionReranker(**configured.PKB_RERANKERS[MATCHER]["OPTIONS"])


@cache
def _embedder() -> Embedder:
    spec = configured.PKB_EMBEDDERS[EMBEDDER]
    embedder: Embedder = import_string(spec["BACKEND"])(**spec["OPTIONS"])
    return embedder


class RememberingJudge:
    name = JUDGE
    is_loaded = True

    def load(self) -> None:
        _judge().load()

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if (query, text) not in _scores]
        if new:
            raw = _judge().score(query, new)
            _scores.update(((query, text), float(s)) for text, s in zip(new, raw, strict=True))
        return np.array([_scores[query, text] for text in texts], np.float32)

    def read_question(self, query: str, text: str) -> NDArray[np.float32]:
        if (query, text) not in _states:
            _states[query, text] = _judge().read_question(query, text)
        return _states[query, text]


class RememberingMatcher:
    """Keeps the texts it has read; with ``direction`` -1, the worst comes first."""

    name = MATCHER
    is_loaded = True

    def __init__(self, *, direction: int = 1) -> None:
        self.direction = direction

    def load(self) -> None:
        _matcher().load()

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return _matcher().score(query, texts) * self.direction

    def match_tokens(
        self, query: str, text: str, spans: Sequence[tuple[int, int]]
    ) -> NDArray[np.float32]:
        return _matcher().match_tokens(query, text, spans)

    def query_token_spans(self, query: str) -> list[tuple[int, int]]:
        return _matcher().query_token_spans(query)


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
