"""A reranker that compares each word of the query with each word of a text."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.model_files import LoadedOnce, find_model
from corpus.embedders.onnx_session import OnnxModel
from corpus.embedders.tokens import TokenRow, load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_QUERY_MARKER, _TEXT_MARKER = "[unused0]", "[unused1]"
# A question is compared with each passage by itself.
CACHED_QUERIES = 16
_ADDED = 3  # [CLS], the marker, [SEP]


class _Loaded(NamedTuple):
    graph: OnnxModel
    tokenizer: "Tokenizer"


class LateInteractionReranker(LoadedOnce[_Loaded]):
    """Run a ColBERT model's ONNX graph and take each query token's best match (MaxSim).

    The query is marked and the text is marked, as in training, but the query is not filled up
    with ``[MASK]``: the package carries the backbone without its last projection, and there the
    masks made the order worse (docs/decisions/0004).

    Args:
        model: A packaged model's name, or the path of a folder with ``model.onnx``.
        threads: Runs at once; 0 takes as many as the process has cores.
        batch_size: Texts of one run; a quantized graph always runs one at a time.
        max_tokens: Longest text, special tokens counted; the query's limit as well.
        name: The model's name where it is not ``model``.
        cached_texts: Texts whose token vectors are kept, the last used ones: the next question on
            the same matter finds the same. docs/decisions/0004 says what one takes.

    Source: Khattab and Zaharia, ColBERT, SIGIR 2020, equation 3; here the mean, not the sum.
    """

    def __init__(
        self,
        model: str = "answerai-colbert-small-v1",
        threads: int = 0,
        batch_size: int = 8,
        max_tokens: int = 300,
        name: str | None = None,
        cached_texts: int = 256,
    ) -> None:
        super().__init__(self._load)
        self.name = name or model
        self._read = lru_cache(cached_texts)(self._read_text)
        self._ask = lru_cache(CACHED_QUERIES)(self._read_query)
        self._model = model
        self._threads = threads
        self._batch_size = batch_size
        self._max_tokens = max_tokens

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,): the mean of the query tokens' best similarities, in [-1, 1].

        The special tokens of the query count too, so that an empty query has a score.

        Raises:
            BackendError: The model is missing or failed.
        """
        means = [best.mean() for best in self._best_matches(query, texts)]
        return np.array(means, np.float32)

    def _load(self) -> _Loaded:
        folder = find_model(self._model)
        loaded = _Loaded(
            OnnxModel(folder / "model.onnx", threads=self._threads, batch_size=self._batch_size),
            load_tokenizer(folder),
        )
        list(self._encode(loaded, ["warm"], _TEXT_MARKER))
        return loaded

    def _best_matches(self, query: str, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return for each text shape (q + 3,): each query token's best cosine, specials too."""
        asked = self._ask(query)
        return [(asked @ self._read(text).astype(np.float32).T).max(axis=1) for text in texts]

    def _read_query(self, query: str) -> NDArray[np.float32]:
        """Return the query's token vectors, specials too, shape (q + 3, d)."""
        ((_, vectors),) = self._encode(self._loaded(), [query], _QUERY_MARKER)
        return vectors

    def _read_text(self, text: str) -> NDArray[np.float16]:
        """Return the text's token vectors, specials too, shape (t, d)."""
        ((_, vectors),) = self._encode(self._loaded(), [text], _TEXT_MARKER)
        # Many are kept, so in half the room.
        return vectors.astype(np.float16)

    def _encode(
        self, loaded: _Loaded, texts: Sequence[str], marker: str
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each text's place and its token vectors, shape (t, d), rows of L2 norm 1."""
        for batch in loaded.graph.run(self._mark(loaded.tokenizer, texts, marker)):
            for place, i in enumerate(batch.rows):
                vectors = batch.output[place][batch.mask[place]]
                yield i, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def _mark(self, tokenizer: "Tokenizer", texts: Sequence[str], marker: str) -> list[TokenRow]:
        """Put the marker after ``[CLS]`` by its id; a text that spells it out gets no marker."""
        start, mark, end = (tokenizer.token_to_id(each) for each in ("[CLS]", marker, "[SEP]"))
        if start is None or mark is None or end is None:
            raise BackendError(f"The tokenizer of {self._model!r} is not that of a ColBERT model.")
        rows = tokenize(tokenizer, texts, special_tokens=False)
        ids = [[start, mark, *row.ids[: self._max_tokens - _ADDED], end] for row in rows]
        return [TokenRow(np.array(each, np.int32), np.zeros(len(each), np.int32)) for each in ids]
