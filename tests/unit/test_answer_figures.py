"""The rows that put several data sets side by side."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.results import ANSWERS, RETRIEVAL, Figure, Result

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "answer_figures.py"))
read_cells = SCRIPT["read_cells"]

SAID = Figure("said_right", "right, of all that was said", ANSWERS, 0.769, 0.6, 0.923, 26, "higher")
WORDS = Figure("words", "words of an answer, median", ANSWERS, 54.0, 40.0, 60.0, 26, "lower")
RESULT = Result(
    dataset="manuals",
    collection="eval-manuals-0123456789",
    created_at="2026-11-23T22:00:00+00:00",
    k=12,
    counts={"questions": 2},
    settings={},
    figures=(SAID, WORDS),
    observations={ANSWERS: {"m1": {}, "m2": {}}},
)


def test_a_figure_is_told_with_its_interval_and_what_it_is_of() -> None:
    cells = dict(zip(("asked", "reader", *SCRIPT["COLUMNS"]), read_cells(RESULT), strict=True))
    assert (cells["asked"], cells["reader"]) == ("manuals, 2", "held out")
    assert cells["said_right"] == ".77 of 26 (.60 to .92)"
    assert cells["words"] == "54"
    assert cells["auroc"] == "-"


def test_whether_the_reader_was_trained_on_a_set_goes_by_its_name() -> None:
    trained = replace(RESULT, dataset="squad2")
    assert read_cells(trained)[1] == "trained on"
    assert read_cells(replace(RESULT, dataset="evaluation"))[1] == "held out"
    assert read_cells(replace(RESULT, dataset="handbook"))[1] == "not known"
    assert read_cells(replace(trained, settings={"PKB_READER": "none"}))[1] == "none"


def test_a_result_without_answers_has_a_line_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    searched = replace(RESULT, dataset="scifact", observations={RETRIEVAL: {"q1": {}}})
    for result in (searched, RESULT):
        (tmp_path / result.dataset).mkdir()
        stored = json.dumps(result.to_json())
        (tmp_path / result.dataset / "result.json").write_text(stored, encoding="utf-8")
    folders = [str(tmp_path / name) for name in ("scifact", "manuals")]
    monkeypatch.setattr(sys, "argv", ["answer_figures.py", *folders])

    SCRIPT["main"]()

    rows, errors = capsys.readouterr()
    assert [row[:13] for row in rows.splitlines()[2:]] == ["| manuals, 2 "]
    assert errors == f"{folders[0]}: has no answers, only retrieval\n"
