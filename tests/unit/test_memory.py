"""What is kept of what was read does not grow with how much was read.

Counted are bytes, in texts of 800 characters as chunks have them, and in lengths that a model has
not had before (docs/decisions/0014).
"""

import ctypes
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from corpus.embedders.model_files import packaged_model
from corpus.embedders.onnx import OnnxModel
from corpus.embedders.tokens import TokenRow
from qa.grounding.support.words import read_words
from qa.search.ranking import diversify_passages
from qa.types import Passage

LENGTHS = range(9, 41)
# With a plan of its buffers each takes 13,000; without it is Python's own coming and going.
MAX_BYTES_OF_A_LENGTH = 4_000
# What 256 texts and 512 sentences take, and a third more; twice as many are read.
MAX_BYTES_OF_PASSAGES = 6_000_000
MAX_BYTES_OF_SENTENCES = 1_500_000


class _Malloc(ctypes.Structure):
    """``struct mallinfo2`` of glibc: bytes, in all its arenas."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def bytes_in_use() -> int:
    """Return what native code and Python hold of malloc's memory, mapped pieces left out."""
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Malloc
    return int(ask().uordblks)


def words_of(number: int, count: int) -> str:
    return " ".join(f"word{number}x{each}" for each in range(count))


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Trace what Python allocates, and tell how much of it is held."""
    gc.collect()
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
def test_a_model_keeps_nothing_of_a_length_it_has_run() -> None:
    model = OnnxModel(packaged_model("bge-small-en-v1.5") / "model.onnx", threads=1, batch_size=1)

    def run(length: int) -> None:
        list(model.run([TokenRow(np.ones(length, np.int32), np.zeros(length, np.int32))]))

    run(max(LENGTHS) + 1)
    before = bytes_in_use()
    for length in LENGTHS:
        run(length)
    assert bytes_in_use() - before < MAX_BYTES_OF_A_LENGTH * len(LENGTHS)


def test_passages_that_were_found_are_kept_to_a_bound() -> None:
    with traced() as held_bytes:
        for number in range(512):
            text = words_of(number, 90)
            passage = Passage(str(number), "d", "0" * 64, "", "", (), None, text, 0, len(text))
            diversify_passages([passage], per_document=1)
        assert held_bytes() < MAX_BYTES_OF_PASSAGES


def test_sentences_that_were_compared_are_kept_to_a_bound() -> None:
    with traced() as held_bytes:
        for number in range(1_024):
            read_words(words_of(number, 12))
        assert held_bytes() < MAX_BYTES_OF_SENTENCES
