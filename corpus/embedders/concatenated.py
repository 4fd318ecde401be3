"""Several embedders as one, with their vectors concatenated."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corpus.cores import usable_core_count
from corpus.embedders import Embedder, get_embedder


class ConcatenatedEmbedder:
    """An ``Embedder`` of the unit vectors of others, joined, each times the root of its weight.

    The cosine of two vectors is then the weighted mean of the models' cosines. Models with
    different training miss different passages, and one index serves all. docs/decisions/0004 tells
    how the default weights were chosen.

    Args:
        name: Name of the combined model.
        weights: The weight of each embedder by its configured name; they add up to 1.
    """

    def __init__(self, name: str, weights: Mapping[str, float]) -> None:
        self.name = name
        self._weights = weights

    @property
    def dimension(self) -> int:
        return sum(part.dimension for part in self._parts)

    @property
    def max_tokens(self) -> int:
        """Return the least of any part, in tokens of the first."""
        return min(part.max_tokens for part in self._parts)

    @property
    def is_loaded(self) -> bool:
        return all(part.is_loaded for part in self._parts)

    def load(self) -> None:
        for part in self._parts:
            part.load()

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        readable = [self._cut(text) for text in texts]
        return self._join([part.embed_passages(readable) for part in self._parts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        readable = self._cut(text)
        first, *others = self._parts
        # A client waits, so the parts run at once; passages run one part after another, because
        # each keeps all cores busy.
        started = [self._threads.submit(part.embed_query, readable) for part in others]
        vectors = [first.embed_query(readable), *(each.result() for each in started)]
        return self._join(vectors)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._parts[0].token_spans(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._parts[0].count_tokens(texts)

    @cached_property
    def _parts(self) -> list[Embedder]:
        return [get_embedder(name) for name in self._weights]

    def _cut(self, text: str) -> str:
        """Cut text to what every part reads."""
        # A token has at least one character; counting takes a third of the time of finding spans.
        if len(text) <= self.max_tokens or self.count_tokens([text])[0] <= self.max_tokens:
            return text
        spans = self.token_spans(text)
        return text[: spans[self.max_tokens - 1][1]] if len(spans) > self.max_tokens else text

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(usable_core_count(), thread_name_prefix="question")

    def _join(self, vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        weighted = zip(self._weights.values(), vectors, strict=True)
        return np.concatenate(
            [np.float32(weight**0.5) * each for weight, each in weighted], axis=-1
        )
