"""An embedder without a model, of any dimension: for tests and work without weights."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


def build_hashing(dimension: str) -> "HashingEmbedder":
    """Create the embedder ``hashing-<dimension>``."""
    return HashingEmbedder(int(dimension))


class HashingEmbedder:
    """Adds each word, with a sign, to one of ``dimension`` positions (the hashing trick).

    Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009.
    """

    max_tokens = 256
    is_loaded = True

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.name = f"hashing-{dimension}"

    def load(self) -> None:
        """Do nothing: there are no weights."""

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n, d), row i for ``texts[i]``, each of L2 norm 1."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return shape (d,), of L2 norm 1."""
        vector = np.zeros(self.dimension)
        words = Counter(
            text[start:end].lower() for start, end in self._spans(text)[: self.max_tokens]
        )
        for word, count in words.items():
            number = int.from_bytes(hashlib.blake2b(_utf8(word), digest_size=8).digest())
            vector[(number >> 1) % self.dimension] += count if number & 1 else -count
        if not vector.any():  # no words, or words that cancel out: still a unit vector
            vector[0] = 1.0
        unit: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character span of each word, in order."""
        return self._spans(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text."""
        return [len(_WORD.findall(text)) for text in texts]

    @staticmethod
    def _spans(text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _WORD.finditer(text)]


def _utf8(word: str) -> bytes:
    return word.encode("utf-8", "replace")
