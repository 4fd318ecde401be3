"""A reranker that reads query and text together."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import LazyModel
from corpus.embedders.model_files import find_graph
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx import OnnxModel
from corpus.embedders.sentence_transformer import torch_models
from corpus.embedders.tokens import clean_surrogates, find_token_spans, load_tokenizer, tokenize
from corpus.errors import BackendError

# Returns one logit per text.
Scorer = Callable[[str, Sequence[str]], NDArray[np.float32]]


class CrossEncoderReranker(LazyModel[Scorer]):
    """Run a cross-encoder, one logit per pair: its ONNX graph, or its weights on torch.

    Args:
        model: As ``find_model`` takes it.
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
        return self._loaded()(query, texts)

    def _load(self) -> Scorer:
        folder = find_model(self._model)
        graph = find_graph(folder)
        score = self._open_graph(graph, folder) if graph else self._open_weights(folder)
        score("warm", ["warm"])
        return score

    def _open_graph(self, path: Path, folder: Path) -> Scorer:
        graph = OnnxModel(path, threads=self._threads, batch_size=self._batch_size)
        cutting = load_tokenizer(folder, max_length=self._max_tokens, strategy="only_second")
        plain = load_tokenizer(folder)

        def score(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
            # Only the second text of a pair is truncated.
            max_count = self._max_tokens // 2
            spans = find_token_spans(plain, query)
            if len(spans) > max_count:
                query = query[: spans[max_count - 1][1]]
            scores = np.empty(len(texts), np.float32)
            for batch in graph.run(tokenize(cutting, texts, first=query)):
                if batch.output.shape != (len(batch.rows), 1):
                    raise self._misfit()
                scores[batch.rows] = batch.output[:, 0]
            return scores

        return score

    def _open_weights(self, folder: Path) -> Scorer:
        with torch_models(self._model, threads=self._threads) as library:
            model = library.CrossEncoder(
                str(folder),
                device=settings.PKB_TORCH_DEVICE,
                max_length=self._max_tokens,
                local_files_only=True,
            )
        running = Lock()

        def score(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
            pairs = [(clean_surrogates(query), clean_surrogates(text)) for text in texts]
            # Without an activation, which would turn logits into shares.
            with running, torch_models(self._model, threads=self._threads):
                scores = model.predict(
                    pairs,
                    batch_size=self._batch_size,
                    activation_fn=lambda logits: logits,
                    show_progress_bar=False,
                )
            if np.shape(scores) != (len(texts),):
                raise self._misfit()
            return np.asarray(scores, np.float32)

        return score

    def _misfit(self) -> BackendError:
        return BackendError(f"The model {self._model!r} is no cross-encoder of one logit.")
