"""Answers are kept with a hash of what decided them, and of nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from pkb import settings as configured
from pkb.env import Env
from pkb.model_catalogue import answerers, embedders, rerankers
from qa.configuration_hash import DECIDING_SETTINGS, configuration_sha256, read_configuration
from qa.context import LANGUAGE_MODEL

EMBEDDER = "openai/text-embedding-3-small"
ADAPTER = Path(configured.PKB_READERS["minilm-l12-reader"]["OPTIONS"]["adapter"])


def told() -> str:
    return configuration_sha256(EMBEDDER)


@pytest.fixture
def apis(settings: Any, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """An embedder, a reranker and a language model behind servers, each with a key."""
    options: dict[str, dict[str, Any]] = {
        "PKB_EMBEDDERS": {"api_base": "https://e.example/v1", "max_tokens": 512},
        "PKB_RERANKERS": {"api_base": "https://r.example/v2"},
        "PKB_ANSWERERS": {
            "api_base": "https://a.example/v1", "model": "openai/m", "max_tokens": 400,
            "program": "", "programs": tmp_path,
        },
    }  # fmt: skip
    names = {
        "PKB_EMBEDDERS": EMBEDDER,
        "PKB_RERANKERS": "cohere/rerank",
        "PKB_ANSWERERS": LANGUAGE_MODEL,
    }
    for setting, name in names.items():
        options[setting] |= {"api_key": f"secret of {setting}", "timeout_s": 60.0, "threads": 0}
        backend = {"BACKEND": f"backend.of.{setting}", "OPTIONS": options[setting]}
        setattr(settings, setting, {**getattr(settings, setting), name: backend})
    settings.PKB_RERANKER_MODEL = "cohere/rerank"
    return options


@pytest.mark.parametrize("setting", [*DECIDING_SETTINGS.values(), "PKB_RETRIEVAL_K"])
def test_a_setting_that_decides_an_answer_is_told(settings: Any, setting: str) -> None:
    before, value = told(), getattr(settings, setting)
    setattr(settings, setting, "none" if isinstance(value, str) else value + 1)
    assert told() != before
    setattr(settings, setting, value)
    assert told() == before


@pytest.mark.parametrize("setting", ["PKB_JUDGE_MODEL", "PKB_READER_MODEL"])
def test_a_model_that_judges_is_told(settings: Any, setting: str) -> None:
    before = told()
    setattr(settings, setting, "none")
    assert told() != before


def test_the_collection_s_embedding_model_is_told() -> None:
    assert configuration_sha256("hashing-64") != configuration_sha256("hashing-128")


@pytest.mark.parametrize(
    ("setting", "option", "value"),
    [
        ("PKB_EMBEDDERS", "api_base", "https://other.example/v1"),
        ("PKB_EMBEDDERS", "max_tokens", 256),
        ("PKB_RERANKERS", "api_base", "https://other.example/v2"),
        ("PKB_ANSWERERS", "model", "openai/other"),
        ("PKB_ANSWERERS", "max_tokens", 200),
    ],
)
def test_an_option_of_a_model_is_told(
    apis: dict[str, dict[str, Any]], setting: str, option: str, value: object
) -> None:
    before = told()
    apis[setting][option] = value
    assert told() != before


def test_the_length_of_an_extract_is_told(settings: Any) -> None:
    before = told()
    spec = settings.PKB_ANSWERERS["extractive"]
    settings.PKB_ANSWERERS = {"extractive": {**spec, "OPTIONS": {"max_words": 30}}}
    assert told() != before


def test_other_weights_of_the_reader_are_told_and_their_place_is_not(
    settings: Any, tmp_path: Path
) -> None:
    before = told()
    spec = settings.PKB_READERS[settings.PKB_READER_MODEL]
    options = {"adapter": str(ADAPTER), **spec.get("OPTIONS", {})}
    moved = tmp_path / ADAPTER.name
    moved.write_bytes(ADAPTER.read_bytes())
    hashes = []
    for path in (ADAPTER, moved):
        read_by = {**spec, "OPTIONS": {**options, "adapter": str(path)}}
        settings.PKB_READERS = {settings.PKB_READER_MODEL: read_by}
        hashes.append(told())
    moved.write_bytes(ADAPTER.read_bytes() + b" ")
    hashes.append(told())
    moved.unlink()
    hashes.append(told())
    assert hashes[0] == hashes[1]
    assert len({before, *hashes[1:3]}) == 3
    assert hashes[3] not in hashes[:3]


def test_another_calibration_is_told_and_its_place_is_not(settings: Any, tmp_path: Path) -> None:
    before, content = told(), settings.PKB_CALIBRATION.read_bytes()
    settings.PKB_CALIBRATION = tmp_path / "calibration.json"
    settings.PKB_CALIBRATION.write_bytes(content)
    assert told() == before
    settings.PKB_CALIBRATION.write_bytes(content + b"\n")
    assert told() != before


def test_the_content_of_the_compiled_program_is_told(
    apis: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    hashes = [told()]
    (tmp_path / "mine.json").write_text("{}")
    apis["PKB_ANSWERERS"]["program"] = "mine"
    hashes.append(told())
    (tmp_path / "mine.json").write_text('{"demos": []}')
    hashes.append(told())
    assert len(set(hashes)) == 3
    apis["PKB_ANSWERERS"]["program"] = "gone"
    assert read_configuration(EMBEDDER)["program"] == ""


def test_how_widely_an_index_is_scanned_is_told(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told()
    options = settings.DATABASES["default"]["OPTIONS"]
    monkeypatch.setitem(options, "options", "-c hnsw.ef_search=10")
    assert told() != before


def test_what_decides_no_answer_is_not_told(
    settings: Any, apis: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    before = told()
    settings.PKB_PORT += 1
    settings.PKB_PUBLIC_URL = "https://elsewhere.example"
    settings.PKB_SUPERUSER = {**settings.PKB_SUPERUSER, "password": "another"}
    for options in apis.values():
        options |= {"api_key": "another", "timeout_s": 1.0, "threads": 7}
        options["api_base"] = options["api_base"].replace("://", "://someone:password@")
    apis["PKB_ANSWERERS"]["programs"] = tmp_path / "elsewhere"
    assert told() == before


def test_no_secret_is_in_what_is_hashed(settings: Any, apis: dict[str, dict[str, Any]]) -> None:
    settings.PKB_SUPERUSER = {**settings.PKB_SUPERUSER, "password": "secret of the superuser"}
    for options in apis.values():
        options |= {
            "access_token": "secret",
            "signed_by": SecretStr("secret"),
            "api_base": "https://me:secret@h.example/?key=secret",
        }
    hashed = json.dumps(read_configuration(EMBEDDER), default=str)
    assert "https://h.example/" in hashed
    assert "secret" not in hashed
    assert "signed_by" not in hashed  # not a hash of it, nor its stars


def test_another_secret_of_any_setting_decides_nothing(settings: Any, tmp_path: Path) -> None:
    secrets = [name for name, field in Env.model_fields.items() if "SecretStr" in str(field)]
    assert len(secrets) == 11
    hashes = set()
    for said in ("tulip", "heron"):
        given = dict.fromkeys(secrets, f"postgresql://ida:{said}@h/notes")
        named = {"EMBEDDING_MODEL": EMBEDDER, "PKB_LM": "openai/m", "RERANKER_MODEL": "cohere/r"}
        env = Env(_env_file=None, **given, **named)  # type: ignore[arg-type, call-arg]
        settings.PKB_EMBEDDERS = embedders(env, cache_dir=tmp_path)
        settings.PKB_RERANKERS = rerankers(env)
        settings.PKB_RERANKER_MODEL = "cohere/r"
        settings.PKB_ANSWERERS = answerers(env, programs_dir=tmp_path)
        hashes.add(told())
        shown = repr([settings.PKB_EMBEDDERS, settings.PKB_RERANKERS, settings.PKB_ANSWERERS])
        assert said not in shown
    assert len(hashes) == 1
