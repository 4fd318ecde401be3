"""Run text models with onnxruntime, without torch in the process."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.backends import LazyLoader, LazyModel
from corpus.cores import usable_core_count
from corpus.embedders.model_files import (
    PACKAGED_MODELS,
    POOLINGS,
    ModelFacts,
    Prefixes,
    exported_graph,
    find_graph,
    read_model_facts,
    read_prefixes,
)
from corpus.embedders.model_sources import find_model
from corpus.embedders.tokens import TokenizedModel, TokenRow, load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


CPU = "CPUExecutionProvider"


class Batch(NamedTuple):
    """The model's output for some rows, padded to the longest.

    Attributes:
        rows: Indexes of the input rows, shape (b,).
        mask: bool, shape (b, t): False where a row is padding.
        output: float32, the graph's first output, shape (b, ...).
        further: float32, other requested outputs by name.
    """

    rows: list[int]
    mask: NDArray[np.bool_]
    output: NDArray[np.float32]
    further: Mapping[str, NDArray[np.float32]]


class OnnxModel:
    """An open graph, safe to share between threads.

    Args:
        graph: The ``model.onnx``.
        threads: Concurrent runs of one thread each; 0 means one for each core of the process. Two
            threads in one run are slower than two runs.
        batch_size: Rows of one run.
        outputs: Further outputs of the graph to return.
    """

    def __init__(
        self, graph: Path, *, threads: int, batch_size: int, outputs: Sequence[str] = ()
    ) -> None:
        import onnxruntime  # noqa: PLC0415  (heavy)

        # An export runs in a process without settings.
        providers = settings.PKB_ONNX_PROVIDERS if settings.configured else [CPU]
        available = onnxruntime.get_available_providers()
        if missing := sorted(set(providers) - set(available)):
            raise BackendError(
                f"PKB_ONNX_PROVIDERS: the installed onnxruntime has no {', '.join(missing)}, but "
                f"{', '.join(available)}."
            )
        self._graph = graph
        self._threads = threads or usable_core_count()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Otherwise a buffer plan of 13 to 15 kB is kept for each text length, and a planned buffer
        # is one piece, for which the arena is doubled. It is not faster (docs/decisions/0014).
        options.enable_mem_pattern = False
        with _native_errors_of(graph):
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=providers)
        self._input_names = {each.name for each in self._session.get_inputs()}
        self._first = self._session.get_outputs()[0].name
        self._further = list(outputs)
        # A quantized graph scales activations by their range over the batch, so a row would depend
        # on its neighbors (docs/decisions/0015). A batch of one does not, and is as fast on a CPU.
        quantized = self._session.get_modelmeta().producer_name == "onnx.quantize"
        self._batch_size = 1 if quantized else batch_size

    def run(self, rows: Sequence[TokenRow]) -> Iterator[Batch]:
        """Run rows of similar length together, longest first.

        Raises:
            BackendError: The model failed.
        """
        by_length = sorted(range(len(rows)), key=lambda i: len(rows[i].ids), reverse=True)
        starts = range(0, len(by_length), self._batch_size)
        batches = [by_length[start : start + self._batch_size] for start in starts]
        run = partial(self._run_batch, rows)
        if self._threads == 1 or len(batches) == 1:
            return map(run, batches)
        return _threads(self._threads).map(run, batches)

    def _run_batch(self, rows: Sequence[TokenRow], chosen: list[int]) -> Batch:
        shape = len(chosen), max(len(rows[i].ids) for i in chosen)
        feed = {
            name: np.zeros(shape, np.int64)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for place, row in enumerate(rows[i] for i in chosen):
            feed["input_ids"][place, : len(row.ids)] = row.ids
            feed["attention_mask"][place, : len(row.ids)] = 1
            feed["token_type_ids"][place, : len(row.ids)] = row.type_ids
        with _native_errors_of(self._graph):
            output, *further = self._session.run(
                [self._first, *self._further],
                {name: value for name, value in feed.items() if name in self._input_names},
            )
        mask = feed["attention_mask"].astype(bool)
        return Batch(chosen, mask, output, dict(zip(self._further, further, strict=True)))


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """Return the thread pool that all models of this process share."""
    return ThreadPoolExecutor(count, thread_name_prefix="model")


@contextmanager
def _native_errors_of(graph: Path) -> Iterator[None]:
    """Convert the runtime's errors, which have no common base, to ``BackendError``."""
    from onnxruntime.capi import onnxruntime_pybind11_state as native  # noqa: PLC0415

    try:
        yield
    except (
        native.EPFail,
        native.Fail,
        native.InvalidArgument,
        native.InvalidGraph,
        native.InvalidProtobuf,
        native.NoModel,
        native.NoSuchFile,
        native.NotImplemented,
        native.RuntimeException,
    ) as exc:
        raise BackendError(f"The model {graph} failed: {exc}") from exc


class OnnxEmbedder(TokenizedModel, LazyModel[tuple[OnnxModel, "Tokenizer"]]):
    """An ``Embedder`` that runs a folder's ONNX graph, or one exported from its weights.

    Args:
        model: A packaged model's name, or the path of a model's folder.
        cache_dir: Folder of exported graphs.
        batch_size: Texts of one run; a quantized graph always runs one at a time.
        threads: Threads; 0 means one for each core of the process.
        pooling: ``mean`` or ``cls``; by default from the folder or the package.
        query_prefix, document_prefix: Text before each query and each passage, in place of what
            the folder says.
        name: The model's name where it is not ``model``.
        quantized: Whether an exported graph gets int8 weights.
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
        document_prefix: str = "",
        name: str | None = None,
        quantized: bool = False,
    ) -> None:
        super().__init__(self._load)
        self.name = name or model
        self._model = model
        self._cache_dir = Path(cache_dir)
        self._batch_size = batch_size
        self._threads = threads
        self._pooling = pooling
        self._given = {"query": query_prefix, "document": document_prefix}
        self._quantized = quantized
        self.tokenizer = LazyLoader(lambda: load_tokenizer(self._folder))

    @property
    def dimension(self) -> int:
        return self._facts.dimension

    @cached_property
    def max_tokens(self) -> int:
        added = self.tokenizer().num_special_tokens_to_add(is_pair=False)
        return self._facts.max_length - added - self.count_tokens([self._prefixes.document])[0]

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(*self._loaded(), [self._prefixes.document + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed(*self._loaded(), [self._prefixes.query + text])[0]
        return vector

    @cached_property
    def _prefixes(self) -> Prefixes:
        return read_prefixes(self._folder, **self._given)

    @cached_property
    def _folder(self) -> Path:
        return find_model(self._model)

    @cached_property
    def _facts(self) -> ModelFacts:
        return read_model_facts(self._folder)

    def _load(self) -> tuple[OnnxModel, "Tokenizer"]:
        path = find_graph(self._folder)
        if path is None:
            name = Path(self._model).name
            path = exported_graph(
                self._folder, self._cache_dir, name=name, quantized=self._quantized
            )
        graph = OnnxModel(path, threads=self._threads, batch_size=self._batch_size)
        tokenizer = load_tokenizer(self._folder, max_length=self._facts.max_length)
        self._embed(graph, tokenizer, ["warm"])
        return graph, tokenizer

    def _embed(
        self, graph: OnnxModel, tokenizer: "Tokenizer", texts: Sequence[str]
    ) -> NDArray[np.float32]:
        packaged = PACKAGED_MODELS.get(self._model)
        pooling = self._pooling or self._facts.pooling or (packaged and packaged.pooling)
        if pooling not in POOLINGS:
            raise BackendError(
                f"How {self._model!r} pools is not known: set pooling to mean or cls "
                "(docs/guides/language-models.md)."
            )
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for batch in graph.run(tokenize(tokenizer, texts)):
            if batch.output.shape != (*batch.mask.shape, self.dimension):
                raise BackendError(f"The graph of {self._model!r} gives no vector of each token.")
            if pooling == "cls":
                pooled = batch.output[:, 0]
            else:
                pooled = np.einsum("btd,bt->bd", batch.output, batch.mask.astype(np.float32))
            vectors[batch.rows] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors
