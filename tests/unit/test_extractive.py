"""Which sentences are quoted, where what the models make of them is given."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from qa.answerers.extractive import ExtractiveProgram
from qa.answerers.signature import label_passages

CONTEXT = label_passages(["Rye is baked here. It is dark.", "Oats are baked here. They are pale."])


def indifferent(question: str, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.zeros(len(texts), np.float32)


def match_evenly(question: str, text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    return np.full((len(spans), 3), 0.5, np.float32)


def prefer(word: str, logit: float) -> ExtractiveProgram:
    def score(question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([logit if word in text else 0.0 for text in texts], np.float32)

    return ExtractiveProgram(score=score, match=match_evenly, max_sentences=2)


@pytest.mark.parametrize(("scores", "label"), [((0.9, 0.2), "S1"), ((0.2, 0.9), "S2")])
def test_of_equal_sentences_those_of_the_better_passage_are_quoted(
    scores: tuple[float, ...], label: str
) -> None:
    program = ExtractiveProgram(score=indifferent, match=match_evenly, max_sentences=2)
    found = program(question="What is baked?", context=CONTEXT, scores=scores)
    assert found.citations == [label]


def test_a_clear_answer_of_a_lesser_passage_is_quoted_all_the_same() -> None:
    found = prefer("Oats", 9.5)(question="What is baked?", context=CONTEXT, scores=(0.9, 0.2))
    assert found.citations == ["S2"]
    assert found.answer == "Oats are baked here."


def test_neighbours_are_quoted_in_reading_order() -> None:
    found = prefer("pale", 5.0)(question="What is baked?", context=CONTEXT)
    assert found.answer == "Oats are baked here. They are pale."


def test_no_passages_make_no_answer() -> None:
    found = prefer("pale", 5.0)(question="What is baked?", context=[])
    assert (found.answer, found.citations, found.confidence) == ("", [], 0.0)
