"""A provider's key is spent on the models that the settings name, whatever a request asks for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pydantic import SecretStr

from pkb.env import Env
from pkb.model_catalogue import embedders
from tests.support.chat_server import KEY, ChatServer, chat_server
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE
from tests.support.model_server import embed

NAMED, OTHER = "openai/text-embedding-3-small@8", "openai/text-embedding-3-large"


@pytest.fixture
def provider(settings: Any) -> Iterator[ChatServer]:
    with chat_server(embed) as server:
        env = Env(
            _env_file=None,  # type: ignore[call-arg]
            PKB_EMBEDDING_API_BASE=f"{server.root}/v1",
            PKB_EMBEDDING_API_KEY=SecretStr(KEY),
            PKB_EMBEDDING_MODELS=NAMED,
        )
        settings.PKB_EMBEDDERS = embedders(env, cache_dir=Path("/nowhere"))
        yield server


def make(api: Api, model: str) -> Any:
    body = {"name": "notes", "embedding_model": model}
    return api.post("/collections", body)


def encode(api: Api, model: str) -> Any:
    return api.post("/v1/embeddings", {"model": model, "input": LIGHTHOUSE})


@pytest.mark.parametrize("model", [OTHER, f"{OTHER}@8", "openai/any@8", f"{NAMED}0"])
def test_another_model_is_not_configured_and_costs_nothing(
    api: Api, provider: ChatServer, model: str
) -> None:
    refused, unknown = make(api, model), encode(api, model)
    assert (refused.status_code, unknown.status_code) == (400, 404)
    assert f"The model '{model}' is not configured" in refused.json()["detail"]
    assert f"The model '{model}' is not configured" in unknown.json()["error"]["message"]
    with pytest.raises(CommandError, match="is not configured"):
        call_command("reembed", model=model)
    assert provider.calls == []


def test_a_named_model_is_used(api: Api, provider: ChatServer) -> None:
    assert make(api, NAMED).status_code == 201
    assert len(encode(api, NAMED).json()["data"][0]["embedding"]) == 8
    assert {call.body["model"] for call in provider.calls} == {"text-embedding-3-small"}
