"""Tokenize text offline: for packaged models, and as OpenAI's models count."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.model_files import read_json

if TYPE_CHECKING:
    from tiktoken import Encoding
    from tokenizers import Tokenizer

# A lone surrogate has no UTF-8, and the library rejects it; one character replaces it.
_SURROGATE = re.compile("[\ud800-\udfff]")
# ASCII whitespace only: some tokenizers treat other kinds as control characters and drop them.
_BREAK = re.compile(r"(?<=[^ \t\n\r])[ \t\n\r]")
_BLOCK_CHARS = 200_000
_BLOCK_TEXTS = 256


class TokenRow(NamedTuple):
    """One input of a model.

    Attributes:
        ids: int32, shape (t,), special tokens included.
        type_ids: int32, shape (t,), 1 for the second text of a pair.
    """

    ids: NDArray[np.int32]
    type_ids: NDArray[np.int32]


def load_tokenizer(folder: Path, *, max_length: int = 0, strategy: str = "") -> "Tokenizer":
    """Load a tokenizer without padding, which truncates only at ``max_length``.

    Truncation is set only here: changing a tokenizer while another thread uses it raises.

    Raises:
        BackendError: The folder has no readable ``tokenizer.json``.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415  (heavy)

    path = folder / "tokenizer.json"
    read_json(path)  # the library's own complaint about a broken file is a bare Exception
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_length:
        tokenizer.enable_truncation(max_length, strategy=strategy or "longest_first")
    return tokenizer


def clean_surrogates(text: str) -> str:
    """Return the text of the same length with U+FFFD for each lone surrogate."""
    return _SURROGATE.sub("\ufffd", text)


def tokenize(
    tokenizer: "Tokenizer",
    texts: Sequence[str],
    *,
    first: str | None = None,
    special_tokens: bool = True,
) -> list[TokenRow]:
    """Tokenize each text, or each pair of ``first`` and a text."""
    rows: list[TokenRow] = []
    for block in _blocks(texts):
        clean = [clean_surrogates(text) for text in block]
        inputs = clean if first is None else [(clean_surrogates(first), text) for text in clean]
        # Stored as arrays: the library's objects take about 100 bytes a token.
        rows.extend(
            TokenRow(np.array(e.ids, np.int32), np.array(e.type_ids, np.int32))
            for e in tokenizer.encode_batch_fast(inputs, add_special_tokens=special_tokens)
        )
    return rows


def find_token_spans(tokenizer: "Tokenizer", text: str) -> list[tuple[int, int]]:
    """Return the half-open character span of each token, in order, special tokens left out.

    A long text is tokenized in blocks that end before whitespace: these tokenizers never join a
    word to the whitespace after it, and the library's objects take about 100 bytes a token.
    """
    clean = clean_surrogates(text)
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(clean):
        space = _BREAK.search(clean, start + _BLOCK_CHARS)
        end = space.start() if space else len(clean)
        encoding = tokenizer.encode(clean[start:end], add_special_tokens=False)
        spans.extend((start + first, start + last) for first, last in encoding.offsets)
        start = end
    return spans


class TokenizedModel:
    """Finds and counts the tokens of text as a model does.

    Attributes:
        tokenizer: Returns the model's tokenizer, which neither pads nor truncates.
    """

    tokenizer: "Callable[[], Tokenizer]"

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return find_token_spans(self.tokenizer(), text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [
            len(encoding)
            for block in _blocks(texts)
            for encoding in self.tokenizer().encode_batch_fast(
                [clean_surrogates(text) for text in block], add_special_tokens=False
            )
        ]


def _blocks(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[i : i + _BLOCK_TEXTS] for i in range(0, len(texts), _BLOCK_TEXTS)]


def find_cl100k_spans(text: str) -> list[tuple[int, int]]:
    """Return the half-open character span of each token; tokens may share a character."""
    encoding = _encoding()
    _, starts = encoding.decode_with_offsets(encoding.encode_ordinary(text))
    return [(start, max(start + 1, end)) for start, end in pairwise([*starts, len(text)])]


def count_cl100k_tokens(text: str) -> int:
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> "Encoding":
    # Reads the file below TIKTOKEN_CACHE_DIR, which pkb.settings points at a local copy.
    import tiktoken  # noqa: PLC0415  (heavy)

    return tiktoken.get_encoding("cl100k_base")
