"""The tokens that OpenAI's models count, offline."""

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding


def find_cl100k_spans(text: str) -> list[tuple[int, int]]:
    """Return the half-open character span of each token; tokens may share a character."""
    encoding = _encoding()
    _, starts = encoding.decode_with_offsets(encoding.encode_ordinary(text))
    return [(start, max(start + 1, end)) for start, end in pairwise([*starts, len(text)])]


def count_cl100k_tokens(text: str) -> int:
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> "Encoding":
    # Reads the file below TIKTOKEN_CACHE_DIR, which pkb.settings points at a copy that is here.
    import tiktoken  # noqa: PLC0415  (heavy)

    return tiktoken.get_encoding("cl100k_base")
