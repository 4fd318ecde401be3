"""Embedders run by sentence-transformers on torch, for any model of that library."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import LazyLoader, LazyModel
from corpus.cores import usable_core_count
from corpus.embedders.model_files import Prefixes, read_prefixes
from corpus.embedders.model_sources import find_model
from corpus.embedders.tokens import TokenizedModel, clean_surrogates
from corpus.errors import BackendError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer


@contextmanager
def torch_models(model: str, *, threads: int) -> Iterator[ModuleType]:
    """Yield the library, and convert its errors about a model to ``BackendError``."""
    try:
        import sentence_transformers  # noqa: PLC0415  (heavy)
        import torch  # noqa: PLC0415  (heavy)
        from safetensors import SafetensorError  # noqa: PLC0415
    except ImportError as exc:
        raise BackendError(f"sentence-transformers is not installed: {exc}") from exc
    torch.set_num_threads(threads or usable_core_count())
    try:
        yield sentence_transformers
    # torch asserts that it was built for the device.
    except (AssertionError, OSError, ValueError, RuntimeError, KeyError, SafetensorError) as exc:
        raise BackendError(f"The model {model!r} does not load: {exc}") from exc


class SentenceTransformerEmbedder(TokenizedModel, LazyModel["SentenceTransformer"]):
    """An ``Embedder`` that runs a model with sentence-transformers on ``PKB_TORCH_DEVICE``.

    Args:
        model: As ``find_model`` takes it.
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
        self._given = {"query": query_prefix, "document": document_prefix}
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
        return int(longest) - added - self.count_tokens([self._prefixes.document])[0]

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return self._encode(texts, self._loaded().encode_document, prefix=self._prefixes.document)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        encode = self._loaded().encode_query
        vector: NDArray[np.float32] = self._encode([text], encode, prefix=self._prefixes.query)[0]
        return vector

    @cached_property
    def _prefixes(self) -> Prefixes:
        return read_prefixes(find_model(self._source), **self._given)

    def _encode(
        self, texts: Sequence[str], encode: Callable[..., Any], *, prefix: str
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
        with torch_models(self._source, threads=self._threads) as library:
            model = library.SentenceTransformer(
                str(find_model(self._source)),
                device=settings.PKB_TORCH_DEVICE,
                local_files_only=True,
            )
            model.encode(["warm"], show_progress_bar=False)
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
