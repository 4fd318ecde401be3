"""A reranker that compares each token of the query with each token of a text."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from corpus.cores import usable_core_count
from corpus.embedders.colbert import TokenEmbedder
from corpus.token_vectors import RankedChunk, get_token_vectors
from qa.types import Passage

# Most prepared queries: one that finds nothing is never taken.
MAX_PREPARED = 64


class LateInteractionReranker:
    """Averages each query token's best match among a text's tokens (MaxSim).

    Args:
        model, threads, batch_size, max_tokens, name: As of ``TokenEmbedder``.
        keeps_vectors: Read token vectors of chunks from the database, and store missing ones.

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
        self._prepared: dict[str, Future[NDArray[np.float32]]] = {}
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

    def prepare(self, query: str) -> None:
        """Start encoding a query while its passages are retrieved."""
        if query in self._prepared:
            return
        if len(self._prepared) >= MAX_PREPARED:
            self._prepared.clear()
        self._prepared[query] = self._threads.submit(self._embedder.embed_query, query)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,): the mean of the query tokens' best similarities, in [-1, 1].

        The special tokens of the query count too, so that an empty query has a score.

        Raises:
            BackendError: The model is missing or failed.
        """
        query_vectors = self._encode(query)
        text_vectors = self._embedder.embed_texts(texts)
        return np.array(
            [(query_vectors @ each.T).max(axis=1).mean() for each in text_vectors], np.float32
        )

    def score_passages(self, query: str, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return shape (n,): ``score`` of their texts, within about 0.02 if vectors are stored.

        Raises:
            BackendError: The model is missing or failed.
        """
        if not self._keeps_vectors or any(passage.is_selected for passage in passages):
            return self.score(query, [passage.as_ranked for passage in passages])
        chunks = [RankedChunk(UUID(each.chunk_id), each.as_ranked) for each in passages]
        packed = get_token_vectors(chunks, embedder=self._embedder)
        return self._embedder.score_packed(self._encode(query), packed)

    def _encode(self, query: str) -> NDArray[np.float32]:
        prepared = self._prepared.get(query)
        if prepared is None:
            return self._embedder.embed_query(query)
        # Until it is done, other threads with the same query may wait for it.
        try:
            return prepared.result()
        finally:
            self._prepared.pop(query, None)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(usable_core_count(), thread_name_prefix="query")
