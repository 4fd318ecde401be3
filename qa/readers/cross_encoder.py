"""A cross-encoder that was trained to tell whether a text answers, and where."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corpus.embedders.model_files import LoadedOnce, find_model
from corpus.embedders.onnx_session import OnnxModel
from corpus.embedders.tokens import load_tokenizer
from qa.readers.adapter import QUESTION, SPAN, merged_graph
from qa.readers.pairs import MOST_TOKENS, as_reading, encode_pairs
from qa.types import Reading

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class _Loaded(NamedTuple):
    graph: OnnxModel
    tokenizer: "Tokenizer"


class CrossEncoderReader(LoadedOnce[_Loaded]):
    """Run a cross-encoder's ONNX graph with an adapter merged into it.

    Args:
        model: A packaged model's name, or the path of a folder with ``model.onnx``.
        adapter: The file of the reader's own weights.
        cache_dir: Where the merged graph is kept.
        threads: Runs at once; 0 takes as many as the process has cores.
        batch_size: Pairs of one run; a quantized graph always runs one at a time.
        max_tokens: Longest pair, special tokens counted; the text is cut, and of the question
            what is over ``MOST_QUESTION_TOKENS``.
        name: The reader's name where it is not the adapter's.
    """

    def __init__(
        self,
        model: str,
        adapter: str,
        cache_dir: str,
        threads: int = 0,
        batch_size: int = 8,
        max_tokens: int = MOST_TOKENS,
        name: str | None = None,
    ) -> None:
        super().__init__(self._load)
        self.name = name or Path(adapter).stem
        self._model = model
        self._adapter = Path(adapter)
        self._cache_dir = Path(cache_dir)
        self._threads = threads
        self._batch_size = batch_size
        self._max_tokens = max_tokens

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        """Return a reading for each text.

        Raises:
            BackendError: The model or the adapter is missing or failed.
        """
        return self._read(self._loaded(), question, texts, leads)

    def _load(self) -> _Loaded:
        folder = find_model(self._model)
        graph = OnnxModel(
            merged_graph(folder / "model.onnx", self._adapter, self._cache_dir),
            threads=self._threads,
            batch_size=self._batch_size,
            outputs=(SPAN, QUESTION),
        )
        loaded = _Loaded(graph, load_tokenizer(folder))
        self._read(loaded, "warm", ["warm"], [])
        return loaded

    def _read(
        self, loaded: _Loaded, question: str, texts: Sequence[str], leads: Sequence[str]
    ) -> list[Reading]:
        found: dict[int, Reading] = {}
        pairs = encode_pairs(
            loaded.tokenizer, question, texts, leads=leads, max_tokens=self._max_tokens
        )
        for batch in loaded.graph.run([pair.row for pair in pairs]):
            for place, i in enumerate(batch.rows):
                found[i] = as_reading(
                    pairs[i],
                    texts[i],
                    logit=float(batch.output[place, 0]),
                    asked=batch.further[QUESTION][place],
                    places=batch.further[SPAN][place],
                )
        return [found[i] for i in range(len(texts))]
