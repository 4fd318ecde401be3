"""A reranker that reads query and text together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.backends import LazyModel
from corpus.embedders.model_files import find_model
from corpus.embedders.onnx import OnnxModel
from corpus.embedders.tokens import find_token_spans, load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class _Loaded(NamedTuple):
    graph: OnnxModel
    cutting: "Tokenizer"
    plain: "Tokenizer"


class CrossEncoderReranker(LazyModel[_Loaded]):
    """Run a cross-encoder's ONNX graph, one logit per pair.

    Args:
        model: A packaged model's name, or the path of a folder with ``model.onnx``.
        threads: Concurrent runs; 0 means one per core.
        batch_size: Pairs per run; a quantized graph always runs one at a time.
        max_tokens: Longest pair, special tokens counted; the text is truncated, and the query
            beyond half of it.
        name: The model's name if it is not ``model``.
    """

    def __init__(
        self,
        model: str,
        threads: int = 0,
        batch_size: int = 8,
        max_tokens: int = 384,
        name: str | None = None,
    ) -> None:
        super().__init__(self._load)
        self.name = name or model
        self._model = model
        self._threads = threads
        self._batch_size = batch_size
        self._max_tokens = max_tokens

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n,): the logit of each text being relevant, unbounded, great is good.

        Raises:
            BackendError: The model is missing or failed.
        """
        return self._score(self._loaded(), query, texts)

    def _load(self) -> _Loaded:
        folder = find_model(self._model)
        graph = OnnxModel(
            folder / "model.onnx",
            threads=self._threads,
            batch_size=self._batch_size,
        )
        loaded = _Loaded(
            graph,
            load_tokenizer(folder, max_length=self._max_tokens, strategy="only_second"),
            load_tokenizer(folder),
        )
        self._score(loaded, "warm", ["warm"])
        return loaded

    def _score(self, loaded: _Loaded, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        scores = np.empty(len(texts), np.float32)
        rows = tokenize(loaded.cutting, texts, first=self._cut_query(loaded.plain, query))
        for batch in loaded.graph.run(rows):
            if batch.output.shape != (len(batch.rows), 1):
                raise BackendError(f"The model {self._model!r} is no cross-encoder of one logit.")
            scores[batch.rows] = batch.output[:, 0]
        return scores

    def _cut_query(self, tokenizer: "Tokenizer", query: str) -> str:
        """Truncate the query: only the second text of a pair is truncated."""
        max_count = self._max_tokens // 2
        spans = find_token_spans(tokenizer, query)
        return query if len(spans) <= max_count else query[: spans[max_count - 1][1]]
