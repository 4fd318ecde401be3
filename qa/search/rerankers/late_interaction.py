"""A reranker that compares each word of the query with each word of a text."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.late_interaction import TokenEmbedder
from corpus.embedders.onnx import usable_core_count
from corpus.token_vectors import RankedChunk, get_token_vectors
from qa.types import Passage

# Queries that are waited for at once, at most: one for which nothing was found is never taken.
MOST_EXPECTED = 64


class LateInteractionReranker:
    """Take each query token's best match among a text's tokens (MaxSim).

    Args:
        model, threads, batch_size, max_tokens, name: As of ``TokenEmbedder``.
        keeps_vectors: Token vectors of chunks are read from the database, and written there
            where they lack.

    Source: Khattab and Zaharia, ColBERT, SIGIR 2020, equation 3; here the mean, not the sum.
    """

    def __init__(
        self,
        model: str = "answerai-colbert-small-v1",
        threads: int = 0,
        batch_size: int = 8,
        max_tokens: int = 300,
        name: str | None = None,
        *,
        keeps_vectors: bool = False,
    ) -> None:
        self._embedder = TokenEmbedder(model, threads, batch_size, max_tokens, name)
        self._keeps_vectors = keeps_vectors
        self._expected: dict[str, Future[NDArray[np.float32]]] = {}
        self.name = self._embedder.name

    @property
    def is_loaded(self) -> bool:
        return self._embedder.is_loaded

    def load(self) -> None:
        """Load the weights and run them once.

        Raises:
            BackendError: The model is missing or does not load.
        """
        self._embedder.load()

    def expect(self, query: str) -> None:
        """Begin to encode a query for which passages are being looked for, once for all who ask."""
        if query in self._expected:
            return
        if len(self._expected) >= MOST_EXPECTED:
            self._expected.clear()
        self._expected[query] = self._beside.submit(self._embedder.embed_query, query)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,): the mean of the query tokens' best similarities, in [-1, 1].

        The special tokens of the query count too, so that an empty query has a score.

        Raises:
            BackendError: The model is missing or failed.
        """
        asked = self._encode(query)
        told = self._embedder.embed_texts(texts)
        return np.array([(asked @ each.T).max(axis=1).mean() for each in told], np.float32)

    def score_passages(self, query: str, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return shape (n,): what ``score`` gives their texts, from kept vectors within some .02.

        Raises:
            BackendError: The model is missing or failed.
        """
        if not self._keeps_vectors or any(passage.is_selected for passage in passages):
            return self.score(query, [passage.as_ranked for passage in passages])
        chunks = [RankedChunk(UUID(each.chunk_id), each.as_ranked) for each in passages]
        packed = get_token_vectors(chunks, embedder=self._embedder)
        return self._embedder.score_packed(self._encode(query), packed)

    def _encode(self, query: str) -> NDArray[np.float32]:
        expected = self._expected.get(query)
        if expected is None:
            return self._embedder.embed_query(query)
        # Until it is there, others who ask the same may wait for it as well.
        try:
            return expected.result()
        finally:
            self._expected.pop(query, None)

    @cached_property
    def _beside(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(usable_core_count(), thread_name_prefix="query")
