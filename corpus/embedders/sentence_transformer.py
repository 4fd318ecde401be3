"""Embedders run by sentence-transformers on torch, for any model of that library."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corpus.backends import LazyLoader, LazyModel
from corpus.embedders.model_files import PACKAGED_MODELS, packaged_model
from corpus.embedders.onnx import usable_core_count
from corpus.embedders.tokens import TokenizedModel, clean_surrogates
from corpus.errors import BackendError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer


class SentenceTransformerEmbedder(TokenizedModel, LazyModel["SentenceTransformer"]):
    """An ``Embedder`` that runs a model with sentence-transformers on the CPU.

    Args:
        model: A packaged model's name, a path, or any name that sentence-transformers knows.
        name: The model's name where it is not ``model``.
        batch_size: Texts of one run.
        threads: Threads of torch in the process; 0 means one for each core.
        query_prefix, document_prefix: Text before each query and each passage, in place of what
            the model's folder says.
    """

    def __init__(
        self,
        model: str,
        name: str | None = None,
        batch_size: int = 8,
        threads: int = 0,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        super().__init__(self._load)
        self.name = name or model
        self._source = model
        self._batch_size = batch_size
        self._threads = threads
        # None: what the folder says.
        self._query_prefix = query_prefix or None
        self._document_prefix = document_prefix or None
        self.tokenizer = LazyLoader(self._copy_tokenizer)
        self._running = Lock()

    @cached_property
    def dimension(self) -> int:
        dimension = self._loaded().get_embedding_dimension()
        if dimension is None:
            raise BackendError(f"The model {self._source!r} does not state its dimension.")
        return int(dimension)

    @cached_property
    def max_tokens(self) -> int:
        longest = self._loaded().max_seq_length
        if longest is None:
            raise BackendError(f"The model {self._source!r} does not state its longest input.")
        added = self.tokenizer().num_special_tokens_to_add(is_pair=False)
        return int(longest) - added - self.count_tokens([self._document_prefix or ""])[0]

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return self._encode(texts, self._loaded().encode_document, prefix=self._document_prefix)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        encode = self._loaded().encode_query
        vector: NDArray[np.float32] = self._encode([text], encode, prefix=self._query_prefix)[0]
        return vector

    def _encode(
        self, texts: Sequence[str], encode: Callable[..., Any], *, prefix: str | None
    ) -> NDArray[np.float32]:
        # transformers reconfigures its tokenizer at each call, so other threads need a copy.
        with self._running:
            try:
                vectors = encode(
                    [clean_surrogates(text) for text in texts],
                    prompt=prefix,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                    normalize_embeddings=True,
                )
            except RuntimeError as exc:
                raise BackendError(f"The model {self._source!r} failed: {exc}") from exc
        return np.asarray(vectors, np.float32)

    def _load(self) -> "SentenceTransformer":
        packaged = self._source in PACKAGED_MODELS
        source = str(packaged_model(self._source)) if packaged else self._source
        try:
            import torch  # noqa: PLC0415  (heavy)
            from safetensors import SafetensorError  # noqa: PLC0415
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415  (heavy)
        except ImportError as exc:
            raise BackendError(f"sentence-transformers is not installed: {exc}") from exc
        torch.set_num_threads(self._threads or usable_core_count())
        try:
            model = SentenceTransformer(
                source, device="cpu", local_files_only=Path(source).is_dir()
            )
            model.encode(["warm"], show_progress_bar=False)
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as exc:
            raise BackendError(f"The model {self._source!r} does not load: {exc}") from exc
        return model

    def _copy_tokenizer(self) -> "Tokenizer":
        """Return a copy of the model's tokenizer that neither pads nor truncates."""
        from tokenizers import Tokenizer  # noqa: PLC0415  (heavy)

        own = getattr(self._loaded().tokenizer, "backend_tokenizer", None)
        if own is None:
            raise BackendError(f"The tokenizer of {self._source!r} gives no character offsets.")
        with self._running:
            tokenizer = Tokenizer.from_str(own.to_str())
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer
