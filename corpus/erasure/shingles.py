"""Keyed hashes of a text's shingles, the overlapping runs of 8 words."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b, sha256

WIDTH = 8
HASH_BYTES = 8
# Maximum hashes of a text, evenly spread. A text of 26,000 words (150,000 characters) has one at
# every 13th word, so that a leftover of 20 words is always found. Four times as many would be as
# large as the text.
MAX_HASHES = 2_000

# East Asian scripts have no spaces; each character counts as a word.
_EAST_ASIAN = r"[\u3040-\u30ff\u3100-\u312f\u3400-\u9fff\uf900-\ufaff]"
_WORD = re.compile(rf"{_EAST_ASIAN}|(?:(?!{_EAST_ASIAN})[^\W_])+")


def read_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return _WORD.findall(text.casefold())


class ShingleHasher:
    """Hashes shingles with a key, without which nobody can test texts."""

    def __init__(self, key: str) -> None:
        self._key = sha256(f"pkb.erasure:{key}".encode()).digest()

    def digest(self, text: str) -> bytes:
        """Return 8 bytes."""
        return blake2b(text.encode(), digest_size=HASH_BYTES, key=self._key).digest()

    def hash_text(self, text: str) -> tuple[bytes, int]:
        """Return the sorted hashes of at most ``MAX_HASHES`` shingles, and their width in words.

        A text of fewer than ``WIDTH`` words is one shingle; one without words has none.
        """
        words = read_words(text)
        width = min(WIDTH, len(words))
        count = len(words) - width + 1 if words else 0
        step = max(1, -(-count // MAX_HASHES))
        starts = range(0, count, step)
        hashes = {self._hash(words, start, width) for start in starts}
        return b"".join(sorted(hashes)), width

    def shingles(self, text: str, *, width: int) -> Iterator[bytes]:
        """Yield the hash of every shingle of a text, in order."""
        words = read_words(text)
        for start in range(len(words) - width + 1):
            yield self._hash(words, start, width)

    def _hash(self, words: Sequence[str], start: int, width: int) -> bytes:
        return self.digest(" ".join(words[start : start + width]))


def split_hashes(hashes: bytes) -> frozenset[bytes]:
    """Return hashes that were joined."""
    starts = range(0, len(hashes), HASH_BYTES)
    return frozenset(hashes[start : start + HASH_BYTES] for start in starts)
