"""How the reranker's judgement and the fused order are put together."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from qa.search.passage_order import rerank_passages
from qa.types import Passage


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
    return Passage(
        f"c{number}", f"d{number}", "0" * 64, "", "", (), None, str(relevance), 0, 1, 0.0, score
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


def test_only_the_first_are_judged_and_the_others_follow() -> None:
    assert rerank(THREE, weight=1.0, count=2) == ["c2", "c1", "c3"]


def test_no_more_than_asked_for_come_back() -> None:
    assert rerank(THREE, weight=0.5, count=3, limit=1) == ["c2"]
    assert rerank([], weight=0.5, count=3) == []


def test_the_judgement_decides_where_fused_scores_lie_close_together() -> None:
    close = [passage(1, relevance=0, score=0.52), passage(2, relevance=1, score=0.5)]
    far = [passage(1, relevance=0, score=0.9), passage(2, relevance=1, score=0.2)]
    assert rerank(close, weight=0.4, count=2) == ["c2", "c1"]
    assert rerank(far, weight=0.4, count=2) == ["c1", "c2"]


class KeepingJudge(Judge):
    """Knows what it made of a passage."""

    def expect(self, query: str) -> None:
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
