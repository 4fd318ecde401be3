"""A reranker that compares each word of the query with each word of a text."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.late_interaction import TokenEmbedder
from corpus.token_vectors import RankedChunk, bring_token_vectors
from qa.types import Passage


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

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,): the mean of the query tokens' best similarities, in [-1, 1].

        The special tokens of the query count too, so that an empty query has a score.

        Raises:
            BackendError: The model is missing or failed.
        """
        asked = self._embedder.embed_query(query)
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
        packed = bring_token_vectors(chunks, embedder=self._embedder)
        return self._embedder.score_packed(query, packed)
