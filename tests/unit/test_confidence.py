"""The chance that an answer is right, from its evidence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from qa.grounding.confidence import (
    ALONE_AHEAD,
    DRAFT_CALIBRATION,
    MAX_AHEAD,
    MAX_LOGIT,
    Calibration,
    draft_key,
    gather_evidence,
    logit,
    read_calibration,
    read_draft_calibration,
    sigmoid,
    write_calibration,
)
from qa.types import Evidence
from tests.support.passages import passage, read_as

PASSAGE = passage("Rye is ground.")
WRITTEN = Calibration({"reading": 0.5, "behind": 2.0, "ahead": 0.25}, -1.0, {"date": "today"})


@pytest.fixture
def shipped() -> Calibration:
    return read_calibration(settings.PKB_CALIBRATION, settings.PKB_READER_MODEL)


def test_better_evidence_is_surer(shipped: Calibration) -> None:
    sure = shipped.estimate(Evidence(reading=12.0, behind=0.0, ahead=6.0))
    assert 0.5 < sure <= 1
    assert sure > shipped.estimate(Evidence(reading=12.0, behind=-0.3, ahead=6.0))
    assert sure > shipped.estimate(Evidence(reading=4.0, behind=0.0, ahead=6.0))
    assert sure > shipped.estimate(Evidence(reading=12.0, behind=0.0, ahead=1.0))
    assert 0 <= shipped.estimate(Evidence(reading=-10.0, behind=-0.5, ahead=0.0)) < 0.1


def test_a_logit_is_bounded_where_the_probability_is_certain() -> None:
    assert (logit(0.0), logit(1.0)) == (-MAX_LOGIT, MAX_LOGIT)
    assert sigmoid(logit(0.3)) == pytest.approx(0.3)


def test_extreme_evidence_stays_in_the_unit_interval(shipped: Calibration) -> None:
    worst, best = Evidence(-1e9, -1.0, -1e9), Evidence(1e9, 0.0, MAX_AHEAD)
    assert 0 <= shipped.estimate(worst) < shipped.estimate(best) <= 1


def test_the_shipped_calibration_tells_where_it_comes_from(shipped: Calibration) -> None:
    assert {"date", "models", "questions", "held_out"} <= shipped.provenance.keys()
    assert settings.PKB_READER_MODEL in shipped.provenance["models"]


def test_evidence_compares_a_passage_with_the_others() -> None:
    found = [
        replace(read_as(passage(text), text, score=reading), chunk_id=chunk, score=score)
        for chunk, text, reading, score in (
            ("a", "Rye is ground.", 3.0, 0.25),
            ("b", "Oats are rolled.", -2.0, 0.75),
            ("c", "Barley is malted.", 1.0, 0.5),
        )
    ]
    # Likelihoods: 3 + 16 * .25 = 7, -2 + 12 = 10, 1 + 8 = 9.
    assert gather_evidence(found) == {
        "a": Evidence(3.0, -0.5, ahead=-3.0),
        "b": Evidence(-2.0, 0.0, ahead=1.0),
        "c": Evidence(1.0, -0.25, ahead=-1.0),
    }
    assert gather_evidence(found[:1]) == {"a": Evidence(3.0, 0.0, ahead=ALONE_AHEAD)}
    assert gather_evidence([]) == {}


def test_a_passage_with_the_same_answer_is_no_rival() -> None:
    twice = [
        replace(read_as(passage(text), "rye", score=score), chunk_id=chunk)
        for chunk, text, score in (("a", "We mill rye.", 3.0), ("b", "We grind rye.", 2.0))
    ]
    assert {each.ahead for each in gather_evidence(twice).values()} == {ALONE_AHEAD}


def test_a_passage_is_no_rival_of_one_that_it_disagrees_with() -> None:
    likely = replace(read_as(passage("It costs 3."), "3", score=5.0), chunk_id="a")
    other = replace(read_as(passage("It costs 4."), "4", score=2.0), chunk_id="b")
    marked = [likely, replace(other, disagrees_with=("a",))]
    assert gather_evidence(marked)["b"].ahead == ALONE_AHEAD


def test_what_was_not_read_is_no_evidence_but_may_be_the_best_found() -> None:
    unread = replace(PASSAGE, chunk_id="c2", score=1.0)
    read = replace(read_as(PASSAGE, score=3.0), score=0.25)
    assert gather_evidence([unread, read]) == {"c1": Evidence(3.0, -0.75, ahead=ALONE_AHEAD)}


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, "mine", WRITTEN)
    assert read_calibration(path, "mine") == WRITTEN


def test_the_calibrations_of_other_readers_stay(tmp_path: Path) -> None:
    path, other = tmp_path / "calibration.json", replace(WRITTEN, intercept=4.0)
    for reader, calibration in (("mine", WRITTEN), ("other", WRITTEN), ("other", other)):
        write_calibration(path, reader, calibration)
    assert read_calibration(path, "mine") == WRITTEN
    assert read_calibration(path, "other") == other


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]", b"1"])
def test_what_is_no_calibration_is_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(content)
    write_calibration(path, "mine", WRITTEN)
    assert read_calibration(path, "mine") == WRITTEN


def test_a_feature_that_an_earlier_fit_does_not_know_counts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, "mine", replace(WRITTEN, weights={"reading": 0.5, "behind": 2.0}))
    assert read_calibration(path, "mine").weights == {**WRITTEN.weights, "ahead": 0.0}


@pytest.mark.parametrize(
    "values",
    [
        [],
        3,
        {"other": {"weights": {}}},
        {"mine": 3},
        {"mine": {"weights": {"reading": 1, "behind": 1}, "intercept": 0}},
        {"mine": {"weights": {"reading": 1, "other": 1}, "intercept": 0, "provenance": {}}},
        {"mine": {"weights": [1, 2], "intercept": 0, "provenance": {}}},
        {"mine": {"weights": {"reading": 1, "behind": "2"}, "intercept": 0, "provenance": {}}},
        {"mine": {"weights": {"reading": 1, "behind": 1}, "intercept": 1e999, "provenance": {}}},
    ],
)
def test_what_is_no_calibration_is_refused(tmp_path: Path, values: Any) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"other\.json is no calibration"):
        read_calibration(path, "mine")


def test_a_calibration_that_is_missing_or_of_another_reader_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="missing"):
        read_calibration(tmp_path / "missing.json", "mine")
    path = tmp_path / "calibration.json"
    write_calibration(path, "mine", WRITTEN)
    with pytest.raises(ValueError, match="nothing for the reader 'other'"):
        read_calibration(path, "other")


def test_a_model_without_a_calibration_of_its_drafts_has_the_usual_one(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    own = Calibration({"reading": 2.0, "behind": 0.0, "ahead": 0.0}, intercept=1.0, provenance={})
    write_calibration(path, draft_key("reader", "openai/m"), own)
    assert read_draft_calibration(path, "reader", "openai/m") == own
    assert read_draft_calibration(path, "reader", "openai/other") == DRAFT_CALIBRATION
