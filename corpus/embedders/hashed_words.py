"""An embedder without a model, of any dimension: for tests and work without weights."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """An ``Embedder`` that adds each word, with a sign, to one position (the hashing trick).

    Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009.
    """

    max_tokens = 256
    is_loaded = True

    def __init__(self, dimension: int | str) -> None:
        self.dimension = int(dimension)
        self.name = f"hashing-{dimension}"

    def load(self) -> None:
        """Do nothing: there are no weights."""

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.dimension)
        words = Counter(word.lower() for word in _WORD.findall(text)[: self.max_tokens])
        for word, count in words.items():
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest)
            vector[(number >> 1) % self.dimension] += count if number & 1 else -count
        if not vector.any():  # no words, or words that cancel out: still a unit vector
            vector[0] = 1.0
        unit: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _WORD.finditer(text)]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]
