import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.search.fusion import best_first, fuse_legs, keep_best, min_max

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
    fused = fuse_legs(similar | others, telling, alpha=0.5, floor=0.5, word_count=3)
    assert best_first(fused, 1) == ["b"]
    fused = fuse_legs(similar | others, flat, alpha=0.5, floor=0.5, word_count=3)
    assert best_first(fused, 1) == ["a"]


def test_words_count_the_more_the_longer_the_question_is() -> None:
    similar, bm25 = {"a": 0.8, "b": 0.5}, {"a": 6.0, "b": 9.0}
    best = {
        count: best_first(fuse_legs(similar, bm25, alpha=0.5, floor=0.4, word_count=count), 1)
        for count in (1, 6, 30, 3_000)
    }
    assert best == {1: ["a"], 6: ["a"], 30: ["b"], 3_000: ["b"]}


def test_the_only_chunk_with_the_word_comes_first_however_far_off_it_is() -> None:
    similar = {**{f"near {n}": 0.70 + n / 1000 for n in range(50)}, "far": 0.1}
    bm25 = {**dict.fromkeys(similar, 0.0), "far": 9.0}
    fused = fuse_legs(similar, bm25, alpha=0.5, floor=0.70, word_count=1)
    assert best_first(fused, 1) == ["far"]


@given(scores, st.floats(0, 1), st.integers(0, 100))
def test_fused_scores_are_at_most_one(
    given_scores: dict[str, float], alpha: float, count: int
) -> None:
    similar = {key: abs(value) / 100 for key, value in given_scores.items()}
    bm25 = {key: abs(value) for key, value in given_scores.items()}
    fused = fuse_legs(similar, bm25, alpha=alpha, floor=min(similar.values()), word_count=count)
    assert max(fused.values()) <= 1 + 1e-9
    assert fused.keys() == similar.keys()


def test_a_leg_that_found_nothing_leaves_the_other() -> None:
    assert fuse_legs({}, {}, alpha=0.5, floor=0.0, word_count=3) == {}
    without_words = fuse_legs(
        {"a": 0.9, "b": 0.3}, {"a": 0.0, "b": 0.0}, alpha=0.5, floor=0.3, word_count=0
    )
    assert without_words == pytest.approx({"a": 1.0, "b": 0.0})
    without_vectors = fuse_legs(
        {"a": 0.0, "b": 0.0}, {"a": 2.0, "b": 0.0}, alpha=0.5, floor=0.0, word_count=3
    )
    assert best_first(without_vectors, 2) == ["a", "b"]
