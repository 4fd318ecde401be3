"""A question and a text as a reader's model takes them, and what its outputs say of the two."""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.tokens import TokenRow, clean_surrogates
from corpus.errors import BackendError
from qa.types import Reading

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

MOST_TOKENS = 320
MOST_QUESTION_TOKENS = 96
MOST_LEAD_TOKENS = 64
MOST_SPAN_TOKENS = 25
# Of the margin in the score.
SPAN_WEIGHT = 0.35
_JOINER = "\u200d"
_BLOCK_TEXTS = 64


class Pair(NamedTuple):
    """A question and a text as the model reads them.

    Attributes:
        spans: The half-open character span of each of the text's tokens that are read.
        start: Where those tokens start in the row.
        asked: Where the question's end, with the separator behind them.
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
    max_tokens: int = MOST_TOKENS,
) -> list[Pair]:
    """Pair a question with each text; all are cut.

    Args:
        leads: What is read before each text, of which the answer is no part; none without any.

    Raises:
        BackendError: The tokenizer is not that of a BERT model.
    """
    before, between = (tokenizer.token_to_id(each) for each in ("[CLS]", "[SEP]"))
    if before is None or between is None:
        raise BackendError("The tokenizer of a reader must have [CLS] and [SEP].")
    asked = tokenizer.encode(clean_surrogates(question), add_special_tokens=False).ids
    first = [before, *asked[:MOST_QUESTION_TOKENS], between]
    room = max(0, max_tokens - len(first) - 1)
    pairs = []
    for at in range(0, len(texts), _BLOCK_TEXTS):
        block = slice(at, at + _BLOCK_TEXTS)
        read = _encode_all(tokenizer, texts[block])
        before_each = _encode_all(tokenizer, leads[block]) if leads else [None] * len(read)
        for each, lead in zip(read, before_each, strict=True):
            led = lead.ids[:MOST_LEAD_TOKENS] if lead else []
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
    """Read the outputs of one pair.

    Args:
        asked: A value and its weight for each token, shape (t, 2).
        places: Logits of starting and of ending there for each token, shape (t, 2); the first
            token stands for no answer.
    """
    first, last, best = _best_span(places[pair.start :][: max(1, len(pair.spans))])
    margin = best - float(places[0].sum())
    score = logit + _pool(asked[1 : pair.asked]) + SPAN_WEIGHT * margin
    if not pair.spans:  # the separator stood in for the text's tokens
        return Reading(score, 0, 0, margin)
    start, end = whole_characters(text, pair.spans[first][0], pair.spans[last][1])
    return Reading(score, start, end, margin)


def _pool(tokens: NDArray[np.float32]) -> float:
    """Return the mean of the tokens' values, weighed by a softmax of their weights."""
    values, weights = tokens.T
    shares = np.exp(weights - weights.max())
    return float((values * shares).sum() / shares.sum())


def _best_span(tokens: NDArray[np.float32]) -> tuple[int, int, float]:
    """Return the best span's first and last token, and its score."""
    scores = tokens[:, 0, None] + tokens[None, :, 1]
    place = np.arange(len(tokens))
    width = place[None, :] - place[:, None]
    scores[(width < 0) | (width >= MOST_SPAN_TOKENS)] = -np.inf
    first, last = np.unravel_index(scores.argmax(), scores.shape)
    return int(first), int(last), float(scores[first, last])


def whole_characters(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span so that it cuts no mark from its letter: tokens leave accents out."""
    while _are_joined(text, start):
        start -= 1
    while _are_joined(text, end):
        end += 1
    return start, end


def _are_joined(text: str, at: int) -> bool:
    """Tell whether what stands before and behind ``at`` is seen as one character."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff":
        return True
    return _JOINER in (before, behind) or unicodedata.category(behind).startswith("M")
