"""Which sentences are quoted, where what the models make of them is given."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qa.answerers.extractive import ExtractiveProgram
from qa.answerers.signature import label_passages

CONTEXT = label_passages(["Rye is baked here. It is dark.", "Oats are baked here. They are pale."])


def match_evenly(question: str, text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    return np.full((len(spans), 3), 0.5, np.float32)


def prefer(word: str, logit: float) -> ExtractiveProgram:
    def score(question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([logit if word in text else 0.0 for text in texts], np.float32)

    return ExtractiveProgram(score=score, match=match_evenly, max_sentences=2)


def test_a_clear_answer_is_quoted_without_what_is_far_below_it() -> None:
    found = prefer("Oats", 9.5)(question="What is baked?", context=CONTEXT)
    assert found.citations == ["S2"]
    assert found.answer == "Oats are baked here."


def test_neighbours_are_quoted_in_reading_order() -> None:
    found = prefer("pale", 5.0)(question="What is baked?", context=CONTEXT)
    assert found.answer == "Oats are baked here. They are pale."


def test_no_passages_make_no_answer() -> None:
    found = prefer("pale", 5.0)(question="What is baked?", context=[])
    assert (found.answer, found.citations, found.confidence) == ("", [], 0.0)
