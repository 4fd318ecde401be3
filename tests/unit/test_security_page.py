"""docs/explanation/security.md names real tests, settings and each way out of the machine."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pkb.env import Env
from pkb.model_catalogue import answerers, embedders, readers, rerankers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
# What names a server, or a model that one runs.
REACHES_OUT = re.compile(
    r"_API_BASE|_FETCH|_SOURCES|_ENDPOINT|_EXPORTER|_ISSUER|_CLIENT_|DATABASE_URL|POSTGRES_HOST|_API_KEY"
)
# Settings of such a model that send nothing by themselves.
DESCRIBING = {"EMBEDDING_DIM", "PKB_EMBEDDING_MAX_TOKENS"}
REMOTE = re.compile(r"`(openai|cohere|ollama_chat)/|PKB_LM|the language model's server")


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return str(found)


def ways_out() -> Iterator[str]:
    for name, field in Env.model_fields.items():
        if REACHES_OUT.search(name) or REMOTE.search(field.description or ""):
            yield name


def test_every_test_and_setting_that_is_named_exists() -> None:
    named = re.findall(r"tests/[\w/]+\.py", PAGE)
    assert len(set(named)) > 15
    assert [path for path in named if not (ROOT / path).is_file()] == []
    named = re.findall(r"`((?:PKB|APP|OTEL|POSTGRES|DATABASE|EMBEDDING|RERANKER)_[A-Z_]+)", PAGE)
    assert [name for name in named if name not in Env.model_fields] == []


def test_every_setting_by_which_something_leaves_is_told() -> None:
    told = section("What leaves the machine")
    expected = set(ways_out()) - DESCRIBING
    assert len(expected) >= 12
    assert {name for name in expected if f"`{name}" not in told} == set()


@pytest.mark.parametrize(
    ("title", "ids"),
    [
        ("OWASP API Security Top 10 (2023)", [f"API{n}" for n in range(1, 11)]),
        ("OWASP LLM Top 10 (2025)", [f"LLM{n:02}" for n in range(1, 11)]),
    ],
)
def test_each_risk_has_what_holds_it_and_a_test(title: str, ids: list[str]) -> None:
    rows = re.findall(r"^\| ([A-Z]+\d+) [^|]+\| [^|]+\| (`tests/.+`) \|$", section(title), re.M)
    assert [name for name, _ in rows] == ids


def addresses(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from addresses(each)
    elif isinstance(value, str) and "://" in value:
        yield value


def test_by_default_no_model_has_a_server(tmp_path: Path) -> None:
    env = Env(_env_file=None)  # type: ignore[call-arg]
    reranker = rerankers(env)[env.RERANKER_MODEL]
    chosen = [embedders(env, cache_dir=tmp_path), answerers(env, programs_dir=tmp_path), reranker]
    chosen.append(readers(env, cache_dir=tmp_path))
    assert [address for each in chosen for address in addresses(each)] == []
    assert env.OTEL_EXPORTER == "none"
    assert (env.DATABASE_URL, env.POSTGRES_HOST) == (None, "")
