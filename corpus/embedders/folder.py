"""Embedders of a folder or of the Hugging Face hub, run by what their files are for."""

from typing import Any

from corpus.backends import LazyLoader
from corpus.embedders import Embedder
from corpus.embedders.model_files import find_graph, read_model_facts
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx import OnnxEmbedder
from corpus.embedders.sentence_transformer import SentenceTransformerEmbedder
from corpus.errors import BackendError


class FolderEmbedder:
    """An ``Embedder`` that onnxruntime runs if there is a graph, and torch otherwise.

    Args:
        model: As ``find_model`` takes it, which is called at the first use.
        cache_dir: Folder of exported graphs.
        options: Further arguments of both classes.
    """

    def __init__(self, model: str, cache_dir: str, **options: Any) -> None:
        def choose() -> Embedder:
            folder = find_model(model)
            try:
                has_graph = find_graph(folder) and read_model_facts(folder).pooling
            except BackendError:  # it has further parts, which only sentence-transformers runs
                has_graph = None
            if has_graph:
                return OnnxEmbedder(model, cache_dir, **options)
            return SentenceTransformerEmbedder(model, **options)

        self.name = model
        self._chosen = LazyLoader(choose)

    @property
    def is_loaded(self) -> bool:
        return self._chosen.is_loaded and self._chosen().is_loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chosen(), name)
