"""Results are kept in files and read back for the pages."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from evaluation.reports import RESULT_FILE, latest_results
from evaluation.results import Figure, Result, ThresholdRow

RESULT = Result(
    dataset="small",
    collection="eval-small-01234567",
    created_at="2026-01-02T03:04:05+00:00",
    k=12,
    counts={"documents": 2, "queries": 3, "questions": 4},
    settings={"FUSION_ALPHA": 0.5},
    figures=(Figure("ndcg", "nDCG@10", "retrieval", 0.5, 0.4, 0.6, 3, "higher"),),
    thresholds=(ThresholdRow(0.5, 2, (0.5, 0.4, 0.6), None),),
    notes=("A note.",),
    observations={"retrieval": {"q1": {"ndcg": 0.5}}},
)


@pytest.fixture
def kept_in(tmp_path: Path, settings: Any) -> Path:
    settings.PKB_EVALUATIONS_DIR = tmp_path
    return tmp_path


def write(result: Result) -> None:
    folder = Path(settings.PKB_EVALUATIONS_DIR) / result.dataset
    folder.mkdir()
    (folder / RESULT_FILE).write_text(json.dumps(asdict(result)))


def test_a_result_survives_json() -> None:
    assert Result.from_json(json.loads(json.dumps(asdict(RESULT)))) == RESULT


def test_the_newest_result_comes_first(kept_in: Path) -> None:
    write(RESULT)
    write(replace(RESULT, dataset="later", created_at="2026-02-02T03:04:05+00:00"))
    assert [kept.result.dataset for kept in latest_results()] == ["later", "small"]


def test_there_may_be_no_result(kept_in: Path) -> None:
    assert latest_results() == []


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"figures": 1}'])
def test_a_broken_file_hides_no_other(content: str, kept_in: Path) -> None:
    write(RESULT)
    (kept_in / "broken").mkdir()
    (kept_in / "broken" / RESULT_FILE).write_text(content)
    assert [kept.result for kept in latest_results()] == [RESULT]


def test_a_kept_result_names_its_files(kept_in: Path) -> None:
    write(RESULT)
    assert latest_results()[0].report is None
    (kept_in / "small" / "report.html").touch()
    (kept_in / "small" / "recall.png").touch()
    (kept,) = latest_results()
    assert kept.report == kept_in / "small" / "report.html"
    assert [path.name for path in kept.plots] == ["recall.png"]
