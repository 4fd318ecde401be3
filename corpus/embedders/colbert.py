"""Token vectors of a ColBERT model, and their similarity to a query's."""

from collections.abc import Sequence
from functools import cached_property
from hashlib import shake_256
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.backends import LazyModel
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx import OnnxModel
from corpus.embedders.tokens import TokenRow, load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# The positive quantization levels of a Gaussian number with the least mean square error, and the
# cosine between a vector and its quantized form: J. Max, Quantizing for minimum distortion, IRE
# Transactions on Information Theory 6 (1960), table I.
_LEVELS: dict[int, tuple[float, ...]] = {
    1: (0.7979,),
    2: (0.4528, 1.510),
    4: (0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733),
}
_QUANTIZED_COSINE = {1: 0.7979, 2: 0.9394, 4: 0.9952}
# Texts unpacked at once: about 10 MB at 384 dimensions.
BLOCK_TEXTS = 32


class TokenCodec:
    """Rotates unit vectors by a fixed matrix and quantizes each number to the nearest level.

    After rotation the numbers of any vector are close to Gaussian, so one table of levels serves
    all dimensions, and nothing is learned from a corpus. Queries are rotated but not quantized.

    Args:
        dimension: Length of a vector, d; any.
        bits: Bits of a number: 1, 2 or 4.

    Attributes:
        token_bytes: Bytes of one token's packed vector.

    Source: the rotation is that of Gao and Long, RaBitQ, SIGMOD 2024; the levels are Max's.
    """

    def __init__(self, dimension: int, bits: int) -> None:
        self.dimension = dimension
        self.bits = bits
        self.token_bytes = -(-dimension * bits // 8)
        positive = np.array(_LEVELS[bits]) / np.sqrt(dimension)
        # All levels of a number of a unit vector, ascending.
        self._levels = np.concatenate([-positive[::-1], positive]).astype(np.float32)
        codes = (np.arange(256)[:, None] >> np.arange(0, 8, bits)) & (2**bits - 1)
        # The numbers in each byte, shape (256, numbers in a byte).
        self._numbers_of_byte: NDArray[np.float32] = self._levels[codes]

    def rotate(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rotated vectors, float32, shape (n, d), comparable with unpacked ones."""
        turned: NDArray[np.float32] = vectors @ self._rotation.T
        return turned

    def pack(self, vectors: NDArray[np.float32]) -> bytes:
        """Return ``token_bytes`` for each of the unit vectors, float32, shape (t, d)."""
        edges = (self._levels[1:] + self._levels[:-1]) / 2
        codes = np.searchsorted(edges, self.rotate(vectors)).astype(np.uint8)
        in_a_byte = 8 // self.bits
        padding = self.token_bytes * in_a_byte - self.dimension
        codes = np.pad(codes, ((0, 0), (0, padding))).reshape(len(codes), -1, in_a_byte)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        packed: NDArray[np.uint8] = np.bitwise_or.reduce(codes << shifts, axis=2)
        return packed.tobytes()

    def unpack(self, packed: bytes) -> NDArray[np.float32]:
        """Return the rotated vectors, float32, shape (t, d), of length about 1.

        Each is scaled by its cosine to the original: inner products are then unbiased, and not too
        small from quantization.
        """
        rows = np.frombuffer(packed, np.uint8).reshape(-1, self.token_bytes)
        # ``take`` is ten times as fast here as an index.
        numbers = np.take(self._numbers_of_byte, rows, axis=0)
        vectors = numbers.reshape(len(rows), -1)[:, : self.dimension]
        lengths = np.sqrt(np.einsum("td,td->t", vectors, vectors)) * _QUANTIZED_COSINE[self.bits]
        scaled: NDArray[np.float32] = vectors / lengths[:, None]
        return scaled

    def mean_best_matches(
        self, query: NDArray[np.float32], packed: Sequence[bytes]
    ) -> NDArray[np.float32]:
        """Return float32, shape (n,): the mean of the query tokens' best cosines in each text.

        Args:
            query: Unit vectors as they came from the model, shape (q, d).
            packed: Packed vectors of each text, with at least one token.
        """
        rotated = self.rotate(query)
        means = [np.empty(0, np.float32)]
        for start in range(0, len(packed), BLOCK_TEXTS):
            block = packed[start : start + BLOCK_TEXTS]
            counts = [len(each) // self.token_bytes for each in block]
            cosines = rotated @ self.unpack(b"".join(block)).T
            best = np.maximum.reduceat(cosines, np.cumsum([0, *counts[:-1]]), axis=1)
            means.append(best.mean(axis=0))
        return np.concatenate(means)

    @cached_property
    def _rotation(self) -> NDArray[np.float32]:
        """Return an orthogonal matrix, shape (d, d), the same on every machine and forever.

        Signs from a hash, then a Kronecker product: a Hadamard matrix for the largest power of
        two in d, a Householder reflection for the rest of it. Random numbers would depend on the
        library that draws them.
        """
        power = self.dimension & -self.dimension
        rest = self.dimension // power
        hadamard = np.ones((1, 1))
        while len(hadamard) < power:
            hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
        reflection = np.eye(rest) - 2 / rest
        digest = shake_256(b"pkb").digest(self.dimension)
        signs = np.frombuffer(digest, np.uint8) % 2 * 2.0 - 1
        turned = np.kron(hadamard / np.sqrt(power), reflection) * signs
        rotation: NDArray[np.float32] = turned.astype(np.float32)
        return rotation


_QUERY_MARKER, _TEXT_MARKER = "[unused0]", "[unused1]"
_ADDED = 3  # [CLS], the marker, [SEP]


class _Loaded(NamedTuple):
    graph: OnnxModel
    tokenizer: "Tokenizer"
    codec: TokenCodec


class TokenEmbedder(LazyModel[_Loaded]):
    """Runs a ColBERT model's ONNX graph.

    Query and text get their markers, as in training, but the query is not padded with ``[MASK]``:
    the package contains the backbone without its last projection, for which masks made the ranking
    worse.

    Args:
        model: A packaged model's name, or the path of a folder with ``model.onnx``.
        threads: Concurrent runs; 0 means one for each core of the process.
        batch_size: Texts of one run; a quantized graph always runs one.
        max_tokens: Maximum tokens of a text or query, with special tokens.
        name: The model's name, if it is not ``model``.
        bits: Bits of each number of a packed vector (docs/decisions/0025).

    Attributes:
        packed_name: Name of packed vectors; vectors of two names are never compared.

    Raises:
        BackendError: By any method, if the model is missing or failed.
    """

    def __init__(
        self,
        model: str = "answerai-colbert-small-v1",
        threads: int = 0,
        batch_size: int = 8,
        max_tokens: int = 300,
        name: str | None = None,
        bits: int = 2,
    ) -> None:
        super().__init__(self._load)
        self.name = name or model
        self.packed_name = f"{self.name}:{max_tokens}tokens:{bits}bit"
        self._model = model
        self._threads = threads
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._bits = bits

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """Return the query's token vectors with special tokens, shape (q + 3, d), of L2 norm 1."""
        loaded = self._loaded()
        return self._encode(loaded.graph, loaded.tokenizer, [query], _QUERY_MARKER)[0]

    def embed_texts(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return each text's token vectors with special tokens, shape (t, d), of L2 norm 1."""
        loaded = self._loaded()
        return self._encode(loaded.graph, loaded.tokenizer, texts, _TEXT_MARKER)

    def pack_texts(self, texts: Sequence[str]) -> list[bytes]:
        """Return each text's token vectors, about 70 times smaller."""
        codec = self._loaded().codec
        return [codec.pack(vectors) for vectors in self.embed_texts(texts)]

    def count_tokens(self, packed: bytes) -> int:
        """Return the number of tokens of these vectors, with special tokens."""
        return len(packed) // self._loaded().codec.token_bytes

    def score_packed(
        self, query: NDArray[np.float32], packed: Sequence[bytes]
    ) -> NDArray[np.float32]:
        """Return shape (n,): the mean of the query tokens' best cosines in each text.

        Args:
            query: Token vectors of the query.
        """
        return self._loaded().codec.mean_best_matches(query, packed)

    def _load(self) -> _Loaded:
        folder = find_model(self._model)
        graph = OnnxModel(folder / "model.onnx", threads=self._threads, batch_size=self._batch_size)
        tokenizer = load_tokenizer(folder)
        (vectors,) = self._encode(graph, tokenizer, ["warm"], _TEXT_MARKER)
        return _Loaded(graph, tokenizer, TokenCodec(vectors.shape[1], self._bits))

    def _encode(
        self, graph: OnnxModel, tokenizer: "Tokenizer", texts: Sequence[str], marker: str
    ) -> list[NDArray[np.float32]]:
        # The id of the marker follows [CLS]; its text form is not treated as a marker.
        start, mark, end = (tokenizer.token_to_id(each) for each in ("[CLS]", marker, "[SEP]"))
        if start is None or mark is None or end is None:
            raise BackendError(f"The tokenizer of {self._model!r} is not that of a ColBERT model.")
        marked: list[TokenRow] = []
        for row in tokenize(tokenizer, texts, special_tokens=False):
            ids = [start, mark, *row.ids[: self._max_tokens - _ADDED], end]
            marked.append(TokenRow(np.array(ids, np.int32), np.zeros(len(ids), np.int32)))
        vectors_of: dict[int, NDArray[np.float32]] = {}
        for batch in graph.run(marked):
            for place, i in enumerate(batch.rows):
                vectors = batch.output[place][batch.mask[place]]
                vectors_of[i] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return [vectors_of[i] for i in range(len(texts))]
