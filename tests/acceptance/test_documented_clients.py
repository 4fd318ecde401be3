"""The Python of docs/guides/clients.md does what the page says, with the real packages."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.models import Chunk
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, Ingest
from tests.support.operations import list_operations
from tests.support.processes import ROOT, wait_for_environment

PAGE = (ROOT / "docs" / "guides" / "clients.md").read_text()
RECIPE = re.compile(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES = dict(RECIPE.findall(PAGE))

Run = Callable[[str], dict[str, Any]]
RunBeside = Callable[[str, str], Any]


@pytest.fixture
def code_of(live_server: Any, ingest: Ingest) -> Callable[[str], str]:
    """Return a recipe for a server that holds one document."""
    ingest(LIGHTHOUSE, title="Coast")
    return lambda title: RECIPES[title].replace("http://localhost:8000", live_server.url)


@pytest.fixture
def run_recipe(code_of: Callable[[str], str]) -> Run:
    """Run a recipe; returns its names."""

    def run(title: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "recipe"}
        exec(compile(code_of(title), f"docs/guides/clients.md, {title}", "exec"), names)  # noqa: S102
        return names

    return run


@pytest.fixture
def run_beside(code_of: Callable[[str], str], tmp_path: Path) -> RunBeside:
    """Run a recipe with packages of its own; returns what an expression then is, as JSON."""

    def run(title: str, shown: str) -> Any:
        program = f"{code_of(title)}\nimport json\nprint(json.dumps({shown}))"
        return json.loads(in_others("python", "-c", program, folder=tmp_path))

    return run


def in_others(program: str, *arguments: str, folder: Path) -> str:
    command = [str(wait_for_environment("clients") / "bin" / program), *arguments]
    done = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_recipe_is_found() -> None:
    assert set(RECIPES) == {"OpenAI's SDK", "LangChain", "LlamaIndex", "Generated clients"}


def test_openais_sdk_answers_with_quotes(run_recipe: Any) -> None:
    names = run_recipe("OpenAI's SDK")
    assert "Orsolya Quill" in names["text"]
    assert all(quote in LIGHTHOUSE for quote in names["quotes"])
    assert names["quotes"]
    names["client"].close()


def test_a_retriever_of_langchain_finds_passages(run_recipe: Any) -> None:
    best = run_recipe("LangChain")["documents"][0]
    assert best.page_content == Chunk.objects.get(pk=best.id).text
    assert best.metadata["document_name"] == "Coast"
    assert "content" not in best.metadata


@pytest.mark.slow
def test_a_retriever_of_llamaindex_finds_passages(run_beside: RunBeside) -> None:
    found = run_beside("LlamaIndex", "[[each.node.id_, each.node.text] for each in nodes]")
    chunk_id, text = found[0]
    assert text == Chunk.objects.get(pk=chunk_id).text


@pytest.mark.slow
def test_a_client_generated_from_the_schema_asks_and_searches(
    run_beside: RunBeside, tmp_path: Path, db: None
) -> None:
    schema = Api().get("/schema", {"format": "json"}).content
    (tmp_path / "schema.json").write_bytes(schema)
    (tmp_path / "config.yaml").write_text("post_hooks: []")  # its formatter only
    made = ("generate", "--path", "schema.json", "--meta", "none", "--output-path", "kb")
    in_others("openapi-python-client", *made, "--config", "config.yaml", folder=tmp_path)
    calls = [path for path in (tmp_path / "kb" / "api").glob("*/*.py") if path.stem != "__init__"]
    assert len(calls) == len(list_operations())
    shown = "[said.answer, [each.content for each in found.results]]"
    said, passages = run_beside("Generated clients", shown)
    assert "Orsolya Quill" in said
    assert passages[0] in LIGHTHOUSE
