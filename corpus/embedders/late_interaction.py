"""Text to a vector a token, by a ColBERT model; and how alike a query and texts are by them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.model_files import LoadedOnce, find_model
from corpus.embedders.onnx_session import OnnxModel
from corpus.embedders.token_codec import TokenCodec
from corpus.embedders.tokens import TokenRow, load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_QUERY_MARKER, _TEXT_MARKER = "[unused0]", "[unused1]"
_ADDED = 3  # [CLS], the marker, [SEP]


class _Loaded(NamedTuple):
    graph: OnnxModel
    tokenizer: "Tokenizer"
    codec: TokenCodec


class TokenEmbedder(LoadedOnce[_Loaded]):
    """Run a ColBERT model's ONNX graph.

    The query is marked and the text is marked, as in training, but the query is not filled up
    with ``[MASK]``: the package carries the backbone without its last projection, and there the
    masks made the order worse.

    Args:
        model: A packaged model's name, or the path of a folder with ``model.onnx``.
        threads: Runs at once; 0 takes as many as the process has cores.
        batch_size: Texts of one run; a quantized graph always runs one at a time.
        max_tokens: Longest text, special tokens counted; the query's limit as well.
        name: The model's name where it is not ``model``.
        bits: Of each number of a packed vector (docs/decisions/0025).

    Attributes:
        packed_name: What packed vectors are known by: those of two names are never compared.
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
        """Return the query's token vectors, specials too, shape (q + 3, d), of L2 norm 1.

        Raises:
            BackendError: The model is missing or failed.
        """
        loaded = self._loaded()
        return self._encode(loaded.graph, loaded.tokenizer, [query], _QUERY_MARKER)[0]

    def embed_texts(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return each text's token vectors, specials too, shape (t, d), of L2 norm 1.

        Raises:
            BackendError: The model is missing or failed.
        """
        loaded = self._loaded()
        return self._encode(loaded.graph, loaded.tokenizer, texts, _TEXT_MARKER)

    def pack_texts(self, texts: Sequence[str]) -> list[bytes]:
        """Return each text's token vectors, some 70 times smaller.

        Raises:
            BackendError: The model is missing or failed.
        """
        codec = self._loaded().codec
        return [codec.pack(vectors) for vectors in self.embed_texts(texts)]

    def count_tokens(self, packed: bytes) -> int:
        """Return of how many tokens these are the vectors, special tokens counted."""
        return len(packed) // self._loaded().codec.token_bytes

    def score_packed(
        self, asked: NDArray[np.float32], packed: Sequence[bytes]
    ) -> NDArray[np.float32]:
        """Return shape (n,): the mean of the query tokens' best cosines in each text.

        Args:
            asked: The query's token vectors.

        Raises:
            BackendError: The model is missing.
        """
        return self._loaded().codec.mean_best_matches(asked, packed)

    def _load(self) -> _Loaded:
        folder = find_model(self._model)
        graph = OnnxModel(folder / "model.onnx", threads=self._threads, batch_size=self._batch_size)
        tokenizer = load_tokenizer(folder)
        (vectors,) = self._encode(graph, tokenizer, ["warm"], _TEXT_MARKER)
        return _Loaded(graph, tokenizer, TokenCodec(vectors.shape[1], self._bits))

    def _encode(
        self, graph: OnnxModel, tokenizer: "Tokenizer", texts: Sequence[str], marker: str
    ) -> list[NDArray[np.float32]]:
        found: dict[int, NDArray[np.float32]] = {}
        for batch in graph.run(self._mark(tokenizer, texts, marker)):
            for place, i in enumerate(batch.rows):
                vectors = batch.output[place][batch.mask[place]]
                found[i] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return [found[i] for i in range(len(texts))]

    def _mark(self, tokenizer: "Tokenizer", texts: Sequence[str], marker: str) -> list[TokenRow]:
        """Put the marker after ``[CLS]`` by its id; a text that spells it out gets no marker."""
        start, mark, end = (tokenizer.token_to_id(each) for each in ("[CLS]", marker, "[SEP]"))
        if start is None or mark is None or end is None:
            raise BackendError(f"The tokenizer of {self._model!r} is not that of a ColBERT model.")
        rows = tokenize(tokenizer, texts, special_tokens=False)
        ids = [[start, mark, *row.ids[: self._max_tokens - _ADDED], end] for row in rows]
        return [TokenRow(np.array(each, np.int32), np.zeros(len(each), np.int32)) for each in ids]
