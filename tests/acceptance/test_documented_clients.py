"""The Python of docs/clients.md does what the page says."""

import re
from typing import Any

import pytest

from corpus.models import Chunk
from tests.factories import LIGHTHOUSE, Ingest
from tests.processes import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text()
RECIPE = re.compile(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES = dict(RECIPE.findall(PAGE))


@pytest.fixture
def run_recipe(live_server: Any, ingest: Ingest) -> Any:
    """Run a recipe against a server that holds one document; returns its names."""
    ingest(LIGHTHOUSE, title="Coast")

    def run(title: str) -> dict[str, Any]:
        code = RECIPES[title].replace("http://localhost:8000", live_server.url)
        names: dict[str, Any] = {"__name__": "recipe"}
        exec(compile(code, f"docs/clients.md, {title}", "exec"), names)  # noqa: S102
        return names

    return run


def test_each_recipe_is_found() -> None:
    assert set(RECIPES) == {"OpenAI's SDK", "LangChain", "LlamaIndex"}


def test_openais_sdk_answers_and_searches(run_recipe: Any) -> None:
    names = run_recipe("OpenAI's SDK")
    assert "Orsolya Quill" in names["text"]
    assert all(quote in LIGHTHOUSE for quote in names["quotes"])
    assert names["quotes"]
    assert names["passages"][0] in LIGHTHOUSE
    names["client"].close()


def test_a_retriever_of_langchain_finds_passages(run_recipe: Any) -> None:
    best = run_recipe("LangChain")["documents"][0]
    assert best.page_content == Chunk.objects.get(pk=best.id).text
    assert best.metadata["document_name"] == "Coast"
    assert "content" not in best.metadata
