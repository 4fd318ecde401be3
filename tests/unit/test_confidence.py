"""The chance that an answer is right, from its evidence."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from numpy.typing import NDArray

from qa.proof.confidence import AnswerabilityHead, Calibration, EvidenceBuilder, read_calibration
from qa.types import Evidence
from tests.doubles import BLIND, StubModel, no_states

# Doubts as much as the first state says.
FIRST_STATE = AnswerabilityHead(
    np.array([[1.0], [0.0]], np.float32), np.array([[1.0, 0.0], [0.0, 0.0]], np.float32)
)


def test_better_evidence_is_surer() -> None:
    shipped = read_calibration(settings.PKB_CALIBRATION)
    sure, unsure = Evidence(8.0, 0.9, 2.0), Evidence(-6.0, 0.4, -2.0)
    assert 0 <= shipped.estimate(unsure) < 0.2
    assert 0.5 < shipped.estimate(sure) <= 1
    assert shipped.estimate(sure) > shipped.estimate(Evidence(8.0, 0.5, 2.0))
    assert shipped.estimate(sure) > shipped.estimate(Evidence(8.0, 0.9, -2.0))


def test_extreme_evidence_stays_in_the_unit_interval() -> None:
    shipped = read_calibration(settings.PKB_CALIBRATION)
    worst, best = Evidence(-1e9, -1.0, -1e9), Evidence(1e9, 1.0, 1e9)
    assert 0 <= shipped.estimate(worst) < shipped.estimate(best) <= 1


def test_the_shipped_calibration_tells_where_it_comes_from() -> None:
    provenance = read_calibration(settings.PKB_CALIBRATION).provenance
    assert {"date", "models", "questions", "cross_validated"} <= provenance.keys()


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    head = AnswerabilityHead(np.ones((3, 2), np.float32), np.full((3, 2), 0.5, np.float32))
    Calibration(1.0, 2.0, 0.25, -3.0, head, {"date": "today"}).write(path)
    read = read_calibration(path)
    assert (read.relevance, read.weakest_match, read.answerability) == (1.0, 2.0, 0.25)
    assert (read.intercept, read.provenance) == (-3.0, {"date": "today"})
    states = np.array([[1.0, 2.0], [3.0, -4.0]], np.float32)
    assert read.head.estimate(states) == head.estimate(states)


def test_what_is_no_calibration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    for values in ({"relevance": 1}, {"head": "no head"}, {"head": "AAAA"}):
        path.write_text(json.dumps(values))
        with pytest.raises(ValueError, match=r"other\.json is no calibration"):
            read_calibration.__wrapped__(path)
    with pytest.raises(ValueError, match="missing"):
        read_calibration(tmp_path / "missing.json")


def test_a_head_whose_layers_do_not_fit_is_refused() -> None:
    misfit = AnswerabilityHead(np.ones((3, 2), np.float32), np.ones((4, 2), np.float32))
    with pytest.raises(ValueError, match="no answerability head"):
        AnswerabilityHead.load(misfit.dump())


class Numbers(StubModel):
    """Judges a number by its value, and matches no token."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([float(text) for text in texts], np.float32)

    def match_tokens(
        self, query: str, text: str, spans: Sequence[tuple[int, int]]
    ) -> NDArray[np.float32]:
        return np.zeros((len(spans), 0), np.float32)

    def query_token_spans(self, query: str) -> list[tuple[int, int]]:
        return []

    def read_question(self, query: str, text: str) -> NDArray[np.float32]:
        return no_states(query, text)


def test_each_quote_adds_to_the_evidence_and_none_takes_away() -> None:
    rows = {"one": [[0.9, 0.2]], "two": [[0.1, 0.7]], "three": [[0.0, 0.0]]}
    states = {"2": 3.0, "2 -3": 2.0, "2 -3 5": 7.0}

    class Reading(Numbers):
        def match_tokens(
            self, query: str, text: str, spans: Sequence[tuple[int, int]]
        ) -> NDArray[np.float32]:
            return np.array(rows[text], np.float32)

        def read_question(self, query: str, text: str) -> NDArray[np.float32]:
            return np.array([[states[text]]], np.float32)

    gathered = EvidenceBuilder("q", judge=Reading(), matcher=Reading(), head=FIRST_STATE)
    found = [
        gathered.add(quote, text=text, span=(0, 1))
        for quote, text in (("2", "one"), ("-3", "two"), ("5", "three"))
    ]
    assert [each.relevance for each in found] == [2, 2, 5]
    assert [each.answerability for each in found] == [-3, -2, -2]
    assert [each.weakest_match for each in found] == pytest.approx([0.2, 0.7, 0.7])


def test_a_question_without_tokens_matches_nothing() -> None:
    gathered = EvidenceBuilder("?", judge=Numbers(), matcher=Numbers(), head=BLIND)
    assert gathered.add("1", text="one", span=(0, 1)) == Evidence(1.0, 0.0, 0.0)
