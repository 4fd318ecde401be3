"""The Kubeflow pipeline: compiled, and run whole by kfp's own local runner."""

import json
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from django.core.management import call_command

from pkb.management.commands import pipeline
from tests.support.commands import refusal
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.processes import manage, read, wait_for_environment

pytestmark = pytest.mark.slow

STEPS = {"load", "embed"}
TIMEOUT_S = 280


@pytest.fixture(scope="module", autouse=True)
def kfp() -> None:
    wait_for_environment("pipelines")


def finish(*arguments: str, database: str, home: Path) -> tuple[int, str]:
    # Artifacts go below the data folder.
    process = manage(*arguments, database=database, PKB_DATA_DIR=str(home))
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out + err


def test_the_yaml_has_both_steps_on_the_project_images(tmp_path: Path) -> None:
    output = tmp_path / "pipeline.yaml"
    call_command("pipeline", "--compile-only", "--output", str(output))
    compiled, platform = yaml.safe_load_all(output.read_text())
    executors = compiled["deploymentSpec"]["executors"]
    containers = {name.removeprefix("exec-"): one["container"] for name, one in executors.items()}
    assert {name: one["image"] for name, one in containers.items()} == {
        "load": "pkb-load:local",
        "embed": "pkb-embed:local",
    }
    assert "pip install" not in json.dumps(containers)
    artifact = compiled["components"]["comp-load"]["outputDefinitions"]["artifacts"]["chunks"]
    assert artifact["artifactType"]["schemaTitle"] == "system.Dataset"
    assert compiled["root"]["dag"]["tasks"]["embed"]["dependentTasks"] == ["load"]
    on_cluster = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    assert all(on_cluster[f"exec-{step}"]["secretAsEnv"] for step in STEPS)


def test_a_missing_kfp_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> ModuleType | None:
        return None

    monkeypatch.setattr(pipeline, "find_spec", find_nothing)
    monkeypatch.setattr(pipeline, "OWN_PYTHON", Path("/nowhere/python"))
    assert "scripts/install pipelines" in refusal("pipeline", "--compile-only")[0]


def test_a_run_without_a_folder_is_wrong_usage() -> None:
    reason, code = refusal("pipeline")
    assert ("Name a folder" in reason, code) == (True, 2)


@pytest.mark.timeout(600)
def test_the_local_runner_brings_a_folder_in_whole(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (folder / "b.txt").write_text(BAKERY)
    (folder / "empty.txt").write_text("")
    home = tmp_path / "home"
    code, said = finish("pipeline", str(folder), "--tag", "coast", database=database, home=home)
    assert code == 0, said
    rows = read(database, "SELECT file_path, status, source FROM corpus_document")
    assert sorted(rows) == [
        (str(folder / "a.md"), "completed", "pipeline"),
        (str(folder / "b.txt"), "completed", "pipeline"),
        (str(folder / "empty.txt"), "failed", "pipeline"),
    ]
    (artifact,) = (home / "pipelines").glob("pkb-ingest-*/load/chunks")
    assert [entry["tags"] for entry in json.loads(artifact.read_text())["documents"]] == [
        ["coast"],
        ["coast"],
    ]
    assert finish("verify", database=database, home=home) == (0, "0 violations\n")


@pytest.mark.timeout(600)
def test_a_step_that_fails_fails_the_run(database: str, tmp_path: Path) -> None:
    arguments = ["pipeline", str(tmp_path), "--collection", "missing"]
    code, said = finish(*arguments, database=database, home=tmp_path)
    assert code == 1
    assert "There is no collection 'missing'." in said
