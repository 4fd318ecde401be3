"""How ``benchmarks/peers.py`` talks to the drivers of other stacks."""

import io
import json
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).parents[2] / "benchmarks" / "peers" / "driver.py"


class _InOrder:
    """Finds every document, a hit for each of its words, the last one first."""

    ways = ("hybrid", "hybrid, reranked")

    def __init__(self) -> None:
        self.documents: list[tuple[str, str]] = []

    def load(self, documents: Sequence[tuple[str, str]]) -> None:
        self.documents += documents

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        found = [key for key, text in self.documents for _ in text.split()]
        return found if way == self.ways[0] else reversed(found)


def _converse(*said: dict[str, Any]) -> list[dict[str, Any]]:
    answers = io.StringIO()
    converse = runpy.run_path(str(DRIVER))["converse"]
    converse(_InOrder(), [json.dumps(each) for each in said], answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_driver_tells_its_ways_before_anything_is_said() -> None:
    assert _converse() == [{"ways": ["hybrid", "hybrid, reranked"]}]


def test_driver_answers_each_line_by_one_and_by_the_way_that_is_named() -> None:
    load = {"load": [["a", "one"], ["b", "two"]]}
    plain, reranked = ({"ask": "?", "way": way} for way in _InOrder.ways)
    answers = _converse(load, plain, reranked)[1:]
    assert answers == [{"loaded": 2}, {"ids": ["a", "b"]}, {"ids": ["b", "a"]}]


def test_document_of_several_hits_has_the_place_of_its_first() -> None:
    load = {"load": [["a", "one two three"], ["b", "four five"]]}
    assert _converse(load, {"ask": "?", "way": "hybrid"})[-1] == {"ids": ["a", "b"]}
