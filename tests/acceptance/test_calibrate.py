"""`manage.py calibrate`, on real models and a small data set."""

from pathlib import Path
from typing import Any

import pytest

from qa.grounding.confidence import Calibration, read_calibration, write_calibration
from qa.types import Evidence
from tests.support.commands import refusal, run
from tests.support.datasets import write_dataset

BUILT = {"mill": 1874, "ferry": 1901, "quarry": 1932, "school": 1888, "granary": 1790, "dam": 1955}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Of each building it is told when it was built, and not by whom."""
    corpus = [
        {"id": name, "title": name, "text": f"The {name} of Bavoke was built in {year}."}
        for name, year in BUILT.items()
    ]
    asked: list[dict[str, Any]] = []
    for name, year in BUILT.items():
        when, who = f"When was the {name} of Bavoke built?", f"Who designed the {name} of Bavoke?"
        asked += [
            {"id": f"{name}-when", "question": when, "answers": [str(year)], "doc_id": name},
            {"id": f"{name}-who", "question": who, "doc_id": name, "answerable": False},
        ]
    return write_dataset(tmp_path / "bavoke", corpus=corpus, qa=asked)


@pytest.fixture
def strangers(tmp_path: Path) -> Path:
    text = "Bread is baked at dawn."
    return write_dataset(
        tmp_path / "bread",
        corpus=[{"id": "bread", "text": text}],
        queries=[{"id": "q", "text": "When is bread baked?"}],
        qrels=[{"qid": "q", "docid": "bread", "grade": 1}],
    )


@pytest.mark.slow
def test_the_file_it_writes_is_one_to_use(
    dataset: Path, strangers: Path, tmp_path: Path, settings: Any
) -> None:
    path, reader = tmp_path / "fitted.json", settings.PKB_READER_MODEL
    other = Calibration(
        {"reading": 1.0, "behind": 1.0, "ahead": 1.0}, 0.0, {"of": "another reader"}
    )
    write_calibration(path, "other", other)
    out, err, _ = run("calibrate", dataset, strangers, "--foreign", 3, "--write", path)
    fitted = read_calibration(path, reader)
    told = fitted.provenance
    assert told["questions"] == {"answerable": 6, "unanswerable": 6, "foreign": 4}
    assert told["data_sets"] == ["bavoke", "bread"]
    assert reader in told["models"]
    assert {"auroc_right", "ece"} <= told["held_out"].keys()
    assert fitted.estimate(Evidence(12.0, 0.0, 6.0)) > fitted.estimate(Evidence(-9.0, -0.5, 0.0))
    assert read_calibration(path, "other") == other
    assert "bavoke: 13 of 13 questions" in err
    assert "bread: 3 of 3 questions" in err
    assert str(path) in out


def test_a_data_set_that_teaches_nothing_is_refused(strangers: Path, tmp_path: Path) -> None:
    path = tmp_path / "fitted.json"
    assert "6 subjects are needed" in refusal("calibrate", strangers, "--write", path)[0]
    assert not path.exists()
