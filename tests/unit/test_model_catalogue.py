"""Which models there are by which settings: a provider's only where they are named."""

from pathlib import Path
from typing import Any

import pytest

from pkb.env import Env, read_env
from pkb.model_catalogue import embedders

SMALL = "openai/text-embedding-3-small"


def catalogue(**given: Any) -> dict[str, dict[str, Any]]:
    env = Env(_env_file=None, **given)  # type: ignore[call-arg]
    return embedders(env, cache_dir=Path("/nowhere"))


def remote(**given: Any) -> dict[str, tuple[str, str | None]]:
    """Return model and dimension at the server of all that is known of an API."""
    found = {name: spec["OPTIONS"] for name, spec in catalogue(**given).items() if "openai" in name}
    return {name: (each["model"], each["dimension"]) for name, each in found.items()}


def test_a_key_alone_makes_no_model_known() -> None:
    assert remote(PKB_EMBEDDING_API_KEY="sk-1") == {}


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"EMBEDDING_MODEL": SMALL}, {SMALL: ("text-embedding-3-small", None)}),
        (
            {"EMBEDDING_MODEL": SMALL, "EMBEDDING_DIM": 512},
            {f"{SMALL}@512": ("text-embedding-3-small", "512")},
        ),
        (
            {"PKB_EMBEDDING_MODELS": "openai/org/m@768, all-mpnet-base-v2"},
            {"openai/org/m@768": ("org/m", "768")},
        ),
        ({"PKB_EMBEDDING_MODELS": "openai/m, openai/m@0, openai/m@4001, openai/@8"}, {}),
        ({"PKB_EMBEDDING_MODELS": "ollama/text-embedding-3-small"}, {}),
    ],
    ids=["of new collections", "shorter", "further", "no dimension", "another server's"],
)
def test_models_of_an_api_are_those_that_are_named(
    given: dict[str, Any], known: dict[str, Any]
) -> None:
    assert remote(**given) == known


@pytest.mark.parametrize(
    ("model", "given", "address"),
    [
        (SMALL, "", "https://api.openai.com/v1"),
        ("ollama/nomic-embed-text@768", "", "http://localhost:11434"),
        ("ollama/nomic-embed-text@768", "http://gpu:11434", "http://gpu:11434"),
        ("tei/bge-m3@1024", "http://gpu:8080", "http://gpu:8080"),
    ],
)
def test_a_model_of_a_server_has_one_address(model: str, given: str, address: str) -> None:
    found = catalogue(EMBEDDING_MODEL=model, PKB_EMBEDDING_API_BASE=given)[model]["OPTIONS"]
    assert (found["api_base"], found["protocol"]) == (address, model.split("/", maxsplit=1)[0])


@pytest.mark.parametrize("server", ["tei", "vllm", "infinity"])
@pytest.mark.parametrize("setting", ["EMBEDDING_MODEL", "PKB_EMBEDDING_MODELS", "RERANKER_MODEL"])
def test_a_self_hosted_server_must_have_an_address(server: str, setting: str) -> None:
    with pytest.raises(SystemExit, match=r"_API_BASE: .* needed for models of vllm/"):
        read_env(**{setting: f"{server}/m@8"})


def test_prefixes_belong_to_the_model_of_new_collections() -> None:
    found = catalogue(
        EMBEDDING_MODEL="openai/e5@8",
        PKB_EMBEDDING_MODELS="openai/m@8",
        PKB_EMBEDDING_QUERY_PREFIX="query: ",
        PKB_EMBEDDING_DOCUMENT_PREFIX="passage: ",
    )
    prefixes = [
        tuple(found[name]["OPTIONS"][f"{kind}_prefix"] for kind in ("query", "document"))
        for name in ("openai/e5@8", "openai/m@8")
    ]
    assert prefixes == [("query: ", "passage: "), ("", "")]


def test_no_pattern_stands_for_models_of_an_api() -> None:
    found = catalogue(PKB_EMBEDDING_API_KEY="sk-1", PKB_EMBEDDING_MODELS=f"{SMALL},openai/m@8")
    patterns = {name for name, spec in found.items() if "PATTERN" in spec}
    assert patterns == {"hashing-<dimension>"}
