"""A cross-encoder trained to decide whether a text answers a question, and where."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.backends import LazyModel
from corpus.characters import widen_to_characters
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx import OnnxModel
from corpus.embedders.tokens import TokenRow, clean_surrogates, load_tokenizer
from corpus.errors import BackendError
from qa.readers.adapter import QUESTION, SPAN, merged_graph
from qa.types import Reading

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


MAX_TOKENS = 320
MAX_QUESTION_TOKENS = 96
MAX_LEAD_TOKENS = 64
MAX_SPAN_TOKENS = 25
# Of the margin in the score.
SPAN_WEIGHT = 0.35
_BLOCK_TEXTS = 64


class Pair(NamedTuple):
    """A question and a text as the model reads them.

    Attributes:
        spans: Half-open character span of each of the text's tokens.
        start: Index of the text's first token in the row.
        asked: Index after the question's tokens and their separator.
    """

    row: TokenRow
    spans: list[tuple[int, int]]
    start: int
    asked: int


def encode_pairs(
    tokenizer: "Tokenizer",
    question: str,
    texts: Sequence[str],
    *,
    leads: Sequence[str] = (),
    max_tokens: int = MAX_TOKENS,
) -> list[Pair]:
    """Pair a question with each text; all are truncated.

    Args:
        leads: Text before each text, which cannot be the answer; empty for none.

    Raises:
        BackendError: The tokenizer is not that of a BERT model.
    """
    before, between = (tokenizer.token_to_id(each) for each in ("[CLS]", "[SEP]"))
    if before is None or between is None:
        raise BackendError("The tokenizer of a reader must have [CLS] and [SEP].")
    question_ids = tokenizer.encode(clean_surrogates(question), add_special_tokens=False).ids
    first = [before, *question_ids[:MAX_QUESTION_TOKENS], between]
    room = max(0, max_tokens - len(first) - 1)
    pairs = []
    for at in range(0, len(texts), _BLOCK_TEXTS):
        block = slice(at, at + _BLOCK_TEXTS)
        read = _encode_all(tokenizer, texts[block])
        before_each = _encode_all(tokenizer, leads[block]) if leads else [None] * len(read)
        for each, lead in zip(read, before_each, strict=True):
            led = lead.ids[:MAX_LEAD_TOKENS] if lead else []
            ids = each.ids[: max(0, room - len(led))]
            second = [*led, *ids, between]
            row = TokenRow(
                np.array(first + second, np.int32),
                np.repeat(np.array([0, 1], np.int32), [len(first), len(second)]),
            )
            pairs.append(Pair(row, each.offsets[: len(ids)], len(first) + len(led), len(first)))
    return pairs


def _encode_all(tokenizer: "Tokenizer", texts: Sequence[str]) -> "list[Encoding]":
    clean = [clean_surrogates(text) for text in texts]
    return tokenizer.encode_batch(clean, add_special_tokens=False)


def as_reading(
    pair: Pair,
    text: str,
    *,
    logit: float,
    asked: NDArray[np.float32],
    places: NDArray[np.float32],
) -> Reading:
    """Convert the outputs of one pair to a reading.

    Args:
        asked: A value and its weight for each token, shape (t, 2).
        places: Start and end logits of each token, shape (t, 2); the first token stands for no
            answer.
    """
    tokens = places[pair.start :][: max(1, len(pair.spans))]
    scores = tokens[:, 0, None] + tokens[None, :, 1]
    place = np.arange(len(tokens))
    width = place[None, :] - place[:, None]
    scores[(width < 0) | (width >= MAX_SPAN_TOKENS)] = -np.inf
    first, last = map(int, np.unravel_index(scores.argmax(), scores.shape))
    best = float(scores[first, last])
    margin = best - float(places[0].sum())
    # The mean of the tokens' values, weighted by a softmax of their weights.
    values, weights = asked[1 : pair.asked].T
    shares = np.exp(weights - weights.max())
    score = logit + float((values * shares).sum() / shares.sum()) + SPAN_WEIGHT * margin
    if not pair.spans:  # the separator stood in for the text's tokens
        return Reading(score, 0, 0, margin)
    start, end = widen_to_characters(text, pair.spans[first][0], pair.spans[last][1])
    return Reading(score, start, end, margin)


class _Loaded(NamedTuple):
    graph: OnnxModel
    tokenizer: "Tokenizer"


class CrossEncoderReader(LazyModel[_Loaded]):
    """Run a cross-encoder's ONNX graph with an adapter merged into it.

    Args:
        model: A packaged model's name, or the path of a folder with ``model.onnx``.
        adapter: The file of the reader's own weights.
        cache_dir: Folder of the merged graph.
        threads: Concurrent runs; 0 means one per core.
        batch_size: Pairs per run; a quantized graph always runs one at a time.
        max_tokens: Longest pair, special tokens counted; the text is truncated, and the question
            beyond ``MAX_QUESTION_TOKENS``.
        name: The reader's name if it is not the adapter's.
    """

    def __init__(
        self,
        model: str,
        adapter: str,
        cache_dir: str,
        threads: int = 0,
        batch_size: int = 8,
        max_tokens: int = MAX_TOKENS,
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
        readings: dict[int, Reading] = {}
        pairs = encode_pairs(
            loaded.tokenizer, question, texts, leads=leads, max_tokens=self._max_tokens
        )
        for batch in loaded.graph.run([pair.row for pair in pairs]):
            for place, i in enumerate(batch.rows):
                readings[i] = as_reading(
                    pairs[i],
                    texts[i],
                    logit=float(batch.output[place, 0]),
                    asked=batch.further[QUESTION][place],
                    places=batch.further[SPAN][place],
                )
        return [readings[i] for i in range(len(texts))]
