"""Embedders run by onnxruntime: no torch in the process, not even for the first export."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corpus.backends import LoadedOnce, LoadOnce
from corpus.embedders.model_files import (
    PACKAGED_MODELS,
    POOLINGS,
    ModelFacts,
    find_model,
    read_model_facts,
)
from corpus.embedders.onnx_export import exported_graph
from corpus.embedders.onnx_session import Batch, OnnxModel
from corpus.embedders.tokens import count_text_tokens, find_token_spans, load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class OnnxEmbedder(LoadedOnce[tuple[OnnxModel, "Tokenizer"]]):
    """Run a folder's ONNX graph, or one exported from its weights.

    Args:
        model: A packaged model's name, or the path of a model's folder.
        cache_dir: Where exported graphs are kept.
        batch_size: Texts of one run; a quantized graph always runs one at a time.
        threads: Threads of one run; 0 takes as many as the process has cores.
        pooling: ``mean`` or ``cls``; unset, what the folder or the package says.
        query_prefix: Put before a query, for models trained with an instruction.
        name: The model's name where it is not ``model``.
        quantized: Whether a graph that has to be exported gets int8 weights.
    """

    def __init__(
        self,
        model: str,
        cache_dir: str,
        batch_size: int = 8,
        threads: int = 0,
        *,
        pooling: str | None = None,
        query_prefix: str = "",
        name: str | None = None,
        quantized: bool = False,
    ) -> None:
        super().__init__(self._load)
        self.name = name or model
        self._model = model
        self._cache_dir = Path(cache_dir)
        self._batch_size = batch_size
        self._threads = threads
        self._pooling_option = pooling
        self._query_prefix = query_prefix
        self._quantized = quantized
        self._tokenizer = LoadOnce(lambda: load_tokenizer(self._folder))

    @property
    def dimension(self) -> int:
        return self._facts.dimension

    @property
    def max_tokens(self) -> int:
        return self._facts.max_length - self._tokenizer().num_special_tokens_to_add(is_pair=False)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return shape (n, d), row i for ``texts[i]``, each of L2 norm 1.

        Raises:
            BackendError: The model is missing or failed.
        """
        graph, tokenizer = self._loaded()
        return self._embed(graph, tokenizer, texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return shape (d,), of L2 norm 1.

        Raises:
            BackendError: The model is missing or failed.
        """
        vector: NDArray[np.float32] = self.embed_passages([self._query_prefix + text])[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character span of each token, in order, special tokens left out."""
        return find_token_spans(self._tokenizer(), text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens not counted."""
        return count_text_tokens(self._tokenizer(), texts)

    @cached_property
    def _folder(self) -> Path:
        return find_model(self._model)

    @cached_property
    def _facts(self) -> ModelFacts:
        return read_model_facts(self._folder)

    @cached_property
    def _pooling(self) -> str:
        packaged = PACKAGED_MODELS.get(self._model)
        pooling = (
            self._pooling_option or self._facts.pooling or (packaged.pooling if packaged else None)
        )
        if pooling not in POOLINGS:
            raise BackendError(
                f"How {self._model!r} pools is not known: set pooling to mean or cls."
            )
        return pooling

    def _load(self) -> tuple[OnnxModel, "Tokenizer"]:
        graph = OnnxModel(self._find_graph(), threads=self._threads, batch_size=self._batch_size)
        tokenizer = load_tokenizer(self._folder, max_length=self._facts.max_length)
        self._embed(graph, tokenizer, ["warm"])
        return graph, tokenizer

    def _find_graph(self) -> Path:
        for path in (self._folder / "model.onnx", self._folder / "onnx" / "model.onnx"):
            if path.is_file():
                return path
        name = Path(self._model).name
        return exported_graph(self._folder, self._cache_dir, name=name, quantized=self._quantized)

    def _embed(
        self, graph: OnnxModel, tokenizer: "Tokenizer", texts: Sequence[str]
    ) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for batch in graph.run(tokenize(tokenizer, texts)):
            vectors[batch.rows] = _pool(batch, self._pooling)
        return vectors


def _pool(batch: Batch, pooling: str) -> NDArray[np.float32]:
    """Return float32, shape (b, d): one unit vector for the token vectors of each row."""
    if pooling == "cls":
        pooled = batch.output[:, 0]
    else:
        pooled = np.einsum("btd,bt->bd", batch.output, batch.mask.astype(np.float32))
    unit: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    return unit
