"""The settings' values and bounds."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from pkb.env import Env, read_env, split_names


def read(**given: object) -> Env:
    return Env(_env_file=None, **given)  # type: ignore[arg-type, call-arg]


@pytest.mark.parametrize(
    ("given", "origins"),
    [
        ("", []),
        ("*", ["*"]),
        ("https://a.example.org, http://b:8080", ["https://a.example.org", "http://b:8080"]),
        ("http://[::1]:3000", ["http://[::1]:3000"]),
    ],
    ids=["none", "any", "two", "IPv6"],
)
def test_origins_are_read(given: str, origins: list[str]) -> None:
    assert split_names(read(PKB_CORS_ORIGINS=given).PKB_CORS_ORIGINS) == origins


@pytest.mark.parametrize(
    "given", ["a.example.org", "https://a/b", "ftp://a", "*, https://a", "https://*.a", "null"]
)
def test_what_is_no_origin_stops_the_start(given: str) -> None:
    with pytest.raises(ValidationError, match="scheme, host and port"):
        read(PKB_CORS_ORIGINS=given)


@pytest.mark.parametrize(
    ("model", "dimension", "full"),
    [
        ("openai/text-embedding-3-small", None, "openai/text-embedding-3-small"),
        ("openai/text-embedding-3-small", 512, "openai/text-embedding-3-small@512"),
        ("openai/nomic@768", 768, "openai/nomic@768"),
        ("all-MiniLM-L6-v2", 384, "all-MiniLM-L6-v2"),
    ],
    ids=["native", "shorter", "named", "local"],
)
def test_the_dimension_is_part_of_a_remote_model_s_name(
    model: str, dimension: int | None, full: str
) -> None:
    env = read(EMBEDDING_MODEL=model, EMBEDDING_DIM=dimension)
    assert env.embedding_model_name == full


@pytest.mark.parametrize(
    "wrong",
    [
        {"PKB_EMBEDDING_API_BASE": "api.example.org"},
        {"PKB_RERANKER_API_BASE": "file:///etc"},
        {"PKB_MODEL_TIMEOUT_S": 0},
        {"PKB_EMBEDDING_MAX_TOKENS": 1},
    ],
    ids=["base", "scheme", "timeout", "tokens"],
)
def test_bounds_hold(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        read(**wrong)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"PKB_OIDC_ISSUER": "id.example.org"}, "PKB_OIDC_ISSUER"),
        ({"PKB_OIDC_ISSUER": "https://id.example.org"}, "needed with PKB_OIDC_ISSUER"),
        ({"PKB_OIDC_SCOPES": "email"}, "PKB_OIDC_SCOPES"),
        ({"PKB_OIDC_ADMIN_GROUP": "keepers"}, "needs PKB_OIDC_GROUPS_CLAIM"),
    ],
    ids=["address", "no client", "not openid", "no claim"],
)
def test_what_a_login_provider_lacks_stops_the_start(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        read(**wrong)


def test_further_models_are_a_list() -> None:
    assert split_names(read(PKB_EMBEDDING_MODELS="a, /b/c,").PKB_EMBEDDING_MODELS) == ["a", "/b/c"]


@pytest.mark.parametrize("name", sorted(Env.model_fields))
def test_an_empty_value_is_unset(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name, raising=False)
    default = getattr(read(), name)
    monkeypatch.setenv(name, "")
    assert getattr(read(), name) == default


def test_an_empty_variable_goes_before_what_the_file_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("PKB_LM=openai/m\nPKB_SECRET_KEY=\n")
    monkeypatch.setenv("PKB_LM", "")
    env = Env(_env_file=tmp_path / ".env")  # type: ignore[call-arg]
    assert (env.PKB_LM, env.PKB_SECRET_KEY) == ("", None)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("PKB_ANSWER_WORD", " (did you mean PKB_ANSWER_WORDS?)"),
        ("PKB_CHUNK_SIZE", " (did you mean CHUNK_SIZE?)"),
        ("PKB_XYZ", ""),
    ],
    ids=["misspelled", "prefixed", "unlike any"],
)
def test_read_env_proposes_the_nearest_setting_for_an_unknown_name(
    monkeypatch: pytest.MonkeyPatch, name: str, suggestion: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(SystemExit) as caught:
        read_env()
    expected = f"pkb: unknown setting {name}{suggestion} (see docs/reference/settings.md)"
    assert caught.value.code == expected
