"""Scores of several lists, what a reranker adds to them, and what is repeated."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qa.search.ranking import (
    best_first,
    diversify_passages,
    fuse_scores,
    keep_best,
    min_max,
    rerank_passages,
)
from qa.types import Passage
from tests.support import passages

scores = st.dictionaries(
    st.text(max_size=3), st.floats(-100, 100, allow_nan=False), min_size=1, max_size=8
)


@given(scores)
def test_min_max_keeps_the_order_and_the_unit_interval(given_scores: dict[str, float]) -> None:
    stretched = min_max(given_scores)
    assert all(0 <= value <= 1 for value in stretched.values())
    assert best_first(stretched, 1)[0] in {
        key for key, value in given_scores.items() if value == max(given_scores.values())
    } or len(set(stretched.values())) < len(stretched)


def test_min_max_of_equal_scores_is_one() -> None:
    assert min_max({"a": 2.0, "b": 2.0}) == {"a": 1.0, "b": 1.0}
    assert min_max({}) == {}


def test_the_best_score_of_each_key_is_kept_even_one_below_zero() -> None:
    lists = [{"a": 0.9, "b": -0.2}, {"a": 0.4, "b": -0.1, "c": 0.3}, {}]
    assert keep_best(lists) == {"a": 0.9, "b": -0.1, "c": 0.3}
    assert keep_best(lists[:1]) == lists[0]
    assert keep_best([]) == {}


def test_equal_scores_come_in_a_fixed_order() -> None:
    assert best_first({"b": 1.0, "a": 1.0, "c": 2.0}, 2) == ["c", "a"]


def test_words_count_by_how_much_the_best_of_them_stands_out() -> None:
    similar = {"a": 0.8, "b": 0.5}
    telling = {"a": 0.0, "b": 9.0, **dict.fromkeys("cdefghijkl", 0.0)}
    flat = {"a": 8.0, "b": 9.0, **dict.fromkeys("cdefghijkl", 8.9)}
    others = dict.fromkeys("cdefghijkl", 0.5)
    fused = fuse_scores(similar | others, telling, alpha=0.5, floor=0.5, word_count=3)
    assert best_first(fused, 1) == ["b"]
    fused = fuse_scores(similar | others, flat, alpha=0.5, floor=0.5, word_count=3)
    assert best_first(fused, 1) == ["a"]


def test_words_count_the_more_the_longer_the_question_is() -> None:
    similar, bm25 = {"a": 0.8, "b": 0.5}, {"a": 6.0, "b": 9.0}
    best = {
        count: best_first(fuse_scores(similar, bm25, alpha=0.5, floor=0.4, word_count=count), 1)
        for count in (1, 6, 30, 3_000)
    }
    assert best == {1: ["a"], 6: ["a"], 30: ["b"], 3_000: ["b"]}


def test_the_only_chunk_with_the_word_comes_first_however_far_off_it_is() -> None:
    similar = {**{f"near {n}": 0.70 + n / 1000 for n in range(50)}, "far": 0.1}
    bm25 = {**dict.fromkeys(similar, 0.0), "far": 9.0}
    fused = fuse_scores(similar, bm25, alpha=0.5, floor=0.70, word_count=1)
    assert best_first(fused, 1) == ["far"]


@given(scores, st.floats(0, 1), st.integers(0, 100))
def test_fused_scores_are_at_most_one(
    given_scores: dict[str, float], alpha: float, count: int
) -> None:
    similar = {key: abs(value) / 100 for key, value in given_scores.items()}
    bm25 = {key: abs(value) for key, value in given_scores.items()}
    fused = fuse_scores(similar, bm25, alpha=alpha, floor=min(similar.values()), word_count=count)
    assert max(fused.values()) <= 1 + 1e-9
    assert fused.keys() == similar.keys()


def test_a_leg_that_found_nothing_leaves_the_other() -> None:
    assert fuse_scores({}, {}, alpha=0.5, floor=0.0, word_count=3) == {}
    without_words = fuse_scores(
        {"a": 0.9, "b": 0.3}, {"a": 0.0, "b": 0.0}, alpha=0.5, floor=0.3, word_count=0
    )
    assert without_words == pytest.approx({"a": 1.0, "b": 0.0})
    without_vectors = fuse_scores(
        {"a": 0.0, "b": 0.0}, {"a": 2.0, "b": 0.0}, alpha=0.5, floor=0.0, word_count=3
    )
    assert best_first(without_vectors, 2) == ["a", "b"]


class Judge:
    """Scores a text by the number it holds."""

    name = "judge"
    is_loaded = True

    def __init__(self) -> None:
        self.judged: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.judged += texts
        return np.array([float(text) for text in texts], dtype=np.float32)


def passage(number: int, *, relevance: int, score: float) -> Passage:
    return passages.passage(
        str(relevance), score=score, chunk_id=f"c{number}", document_id=f"d{number}"
    )


def rerank(passages: list[Passage], *, weight: float, count: int, limit: int = 9) -> list[str]:
    judge = Judge()
    found = rerank_passages(
        "q", passages, reranker=judge, weight=weight, count=count, limit=limit, per_document=99
    )
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(judge.judged) == min(count, len(passages))
    return [one.chunk_id for one in found]


THREE = [
    passage(1, relevance=0, score=0.9),
    passage(2, relevance=5, score=0.8),
    passage(3, relevance=9, score=0.1),
]


@pytest.mark.parametrize(
    ("weight", "expected"),
    [(0.0, ["c1", "c2", "c3"]), (1.0, ["c3", "c2", "c1"]), (0.5, ["c2", "c3", "c1"])],
)
def test_judgement_and_fused_score_are_blended(weight: float, expected: list[str]) -> None:
    assert rerank(THREE, weight=weight, count=3) == expected


def test_only_the_first_are_judged_and_no_more_than_asked_come_back() -> None:
    assert rerank(THREE, weight=1.0, count=2) == ["c2", "c1", "c3"]
    assert rerank(THREE, weight=0.5, count=3, limit=1) == ["c2"]
    assert rerank([], weight=0.5, count=3) == []


def test_the_judgement_decides_where_fused_scores_lie_close_together() -> None:
    close = [passage(1, relevance=0, score=0.52), passage(2, relevance=1, score=0.5)]
    far = [passage(1, relevance=0, score=0.9), passage(2, relevance=1, score=0.2)]
    assert rerank(close, weight=0.4, count=2) == ["c2", "c1"]
    assert rerank(far, weight=0.4, count=2) == ["c1", "c2"]


class KeepingJudge(Judge):
    """Knows what it made of a passage."""

    def prepare(self, query: str) -> None:
        """Nothing to make ready."""

    def score_passages(self, query: str, passages: Sequence[Passage]) -> NDArray[np.float32]:
        return np.array([-float(passage.text) for passage in passages], dtype=np.float32)


def test_a_reranker_that_keeps_passages_is_given_them_and_not_their_texts() -> None:
    judge = KeepingJudge()
    found = rerank_passages(
        "q", THREE, reranker=judge, weight=1.0, count=3, limit=3, per_document=99
    )
    assert [one.chunk_id for one in found] == ["c1", "c2", "c3"]
    assert judge.judged == []


WORDS = "the quick brown fox jumps over the lazy dog near the old stone bridge at dawn".split()


def worded(number: int, document: str, text: str) -> Passage:
    score = 1 - number / 10
    return passages.passage(text, chunk_id=f"c{number}", document_id=document, score=score)


def text_of(number: int) -> str:
    return " ".join(f"{word}{number}" for word in WORDS)


def ids(passages: list[Passage]) -> list[str]:
    return [each.chunk_id for each in passages]


def test_a_document_over_its_share_comes_behind_the_others() -> None:
    given = [worded(n, "a" if n < 4 else "b", text_of(n)) for n in range(6)]
    spread = diversify_passages(given, per_document=2)
    assert ids(spread) == ["c0", "c1", "c4", "c5", "c2", "c3"]
    scores = [each.score for each in spread]
    assert scores == sorted(scores, reverse=True)


def test_a_repeated_text_comes_behind_the_others() -> None:
    footer = f"{' '.join(WORDS * 3)} page 7"
    given = [
        worded(0, "a", " ".join(WORDS * 3)),
        worded(1, "b", footer),
        worded(2, "c", text_of(2)),
    ]
    assert ids(diversify_passages(given, per_document=9)) == ["c0", "c2", "c1"]


@pytest.mark.parametrize("other", ["new", "not old"])
def test_a_copy_with_another_value_is_no_repeat(other: str) -> None:
    text = " ".join(WORDS * 3)
    middle = len(text) // 2
    altered = text[:middle] + text[middle:].replace("old", other, 1)
    given = [worded(0, "a", text), worded(1, "b", altered), worded(2, "c", text_of(2))]
    assert ids(diversify_passages(given, per_document=9)) == ["c0", "c1", "c2"]


def test_different_texts_keep_their_order_and_none_is_lost() -> None:
    given = [worded(n, "a", text_of(n)) for n in range(4)]
    assert diversify_passages(given, per_document=9) == given
    given = [worded(n, "a", "same words again") for n in range(5)]
    assert sorted(ids(diversify_passages(given, per_document=1))) == ids(given)
    assert diversify_passages([], per_document=1) == []


def test_whether_one_repeats_the_other_is_told_of_any_two_texts() -> None:
    words = [f"word{n}" for n in range(50)]
    cuts = [words[before : len(words) - behind] for before in range(9) for behind in range(9)]
    third = worded(2, "a", " ".join(WORDS))
    for one, other in combinations(cuts, 2):
        pair = [worded(0, "a", " ".join(one)), worded(1, "a", " ".join(other))]
        expected = ["c0", "c2", "c1"] if is_repeat(*pair) else ["c0", "c1", "c2"]
        assert ids(diversify_passages([*pair, third], per_document=9)) == expected


def is_repeat(passage: Passage, other: Passage) -> bool:
    """Compare by the definition: the share of four words in a row that both have."""
    shingles, others = (shingles_of(each.text.split()) for each in (passage, other))
    return len(shingles & others) >= 0.8 * len(shingles | others)


def shingles_of(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + 4]) for at in range(len(words) - 3)}
