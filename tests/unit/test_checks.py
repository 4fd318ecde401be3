"""A configuration that would fail the first question does not get as far as that."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core import checks

from qa.checks import CONFIGURATION
from qa.context import LANGUAGE_MODEL


def found() -> list[tuple[str | None, str]]:
    return [(error.id, error.msg) for error in checks.run_checks(tags=[CONFIGURATION])]


def configure_lm(settings: Any, **options: Any) -> None:
    defaults = {"api_base": "", "api_key": "", "program": "", "programs": Path("/nowhere")}
    settings.PKB_ANSWERERS = {
        **settings.PKB_ANSWERERS,
        LANGUAGE_MODEL: {"BACKEND": "not.loaded", "OPTIONS": defaults | options},
    }


def test_the_configuration_here_is_right() -> None:
    assert found() == []


@pytest.mark.parametrize(
    "content",
    ["", "{}", '{"%s": {}}', '{"%s": {"weights": {', "\x00\xff"],
    ids=["empty", "no reader", "no fields", "cut off", "binary"],
)
def test_a_broken_calibration_is_named(settings: Any, tmp_path: Path, content: str) -> None:
    settings.PKB_CALIBRATION = tmp_path / "calibration.json"
    content = content.replace("%s", settings.PKB_READER_MODEL)
    settings.PKB_CALIBRATION.write_text(content, encoding="latin-1")
    ((code, message),) = found()
    assert code == "qa.E002"
    assert message.startswith(f"PKB_CALIBRATION: {settings.PKB_CALIBRATION} is no calibration")


def test_a_calibration_without_the_reader_is_named(settings: Any, tmp_path: Path) -> None:
    kept = json.loads(settings.PKB_CALIBRATION.read_text())
    del kept[settings.PKB_READER_MODEL]
    settings.PKB_CALIBRATION = tmp_path / "calibration.json"
    settings.PKB_CALIBRATION.write_text(json.dumps(kept))
    ((code, message),) = found()
    assert code == "qa.E002"
    assert f"nothing for the reader {settings.PKB_READER_MODEL!r}" in message
    assert "manage.py calibrate makes one" in message


@pytest.mark.parametrize("reader", ["minilm-l12-reader", "none"])
def test_each_reader_that_comes_with_the_product_has_its_calibration(
    settings: Any, reader: str
) -> None:
    settings.PKB_READER_MODEL = reader
    assert found() == []


def test_unknown_models_are_named(settings: Any) -> None:
    settings.PKB_EMBEDDING_MODEL = "bge-tiny"
    ((code, message),) = found()
    assert code == "qa.E001"
    assert message.startswith("EMBEDDING_MODEL: there is no 'bge-tiny', but ")
    settings.PKB_EMBEDDING_MODEL, settings.PKB_EMBEDDING_MODELS = "hashing-64", ["openai/m"]
    ((_, message),) = found()
    assert message.startswith("PKB_EMBEDDING_MODELS: there is no 'openai/m', but ")
    settings.PKB_EMBEDDING_MODELS, settings.PKB_RERANKER_MODEL = [], "best"
    ((_, message),) = found()
    assert message.startswith("RERANKER_MODEL: there is no 'best', but ")
    settings.PKB_RERANKER_MODEL, settings.PKB_READER_MODEL = "none", "best"
    ((_, message),) = found()
    assert message.startswith("PKB_READER: there is no 'best', but ")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model": "local:/a/model.gguf"}, "PKB_LM: 'local:/a/model.gguf' is none of openai/..., "),
        ({"model": "azure/m"}, "PKB_LM: 'azure/m' is none of openai/..., ollama_chat/...."),
        ({"model": "openai/m"}, "PKB_LM_API_KEY or PKB_LM_API_BASE is needed"),
        ({"model": "openai/m", "api_base": "localhost"}, "PKB_LM_API_BASE must begin with"),
        ({"model": "ollama_chat/m", "program": "mine"}, "PKB_LM_PROGRAM: there is no program"),
    ],
)
def test_a_language_model_that_cannot_be_is_named(
    settings: Any, options: dict[str, str], reason: str
) -> None:
    configure_lm(settings, **options)
    ((code, message),) = found()
    assert code == "qa.E003"
    assert message.startswith(reason)


@pytest.fixture
def expose(settings: Any) -> Any:
    def change(mode: str, **changed: Any) -> None:
        settings.PKB_AUTH = mode
        settings.EXPOSURE = replace(settings.EXPOSURE, **changed)

    return change


@pytest.mark.parametrize("mode", ["auto", "off", "required"])
@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_an_address_of_this_machine_alone_is_right(expose: Any, mode: str, host: str) -> None:
    expose(mode, bind=host)
    assert found() == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"bind": "0.0.0.0"}, "APP_HOST: 0.0.0.0"),  # noqa: S104
        ({"hosts": ["localhost", "*"]}, "ALLOWED_HOSTS: *"),
        ({"public_url": "https://kb.example.org"}, "PKB_PUBLIC_URL: https://kb.example.org"),
    ],
)
def test_exposure_without_login_is_an_error(
    expose: Any, changed: dict[str, Any], named: str
) -> None:
    expose("off", **changed)
    ((code, message),) = found()
    assert code == "pkb.E001"
    assert message.startswith(f"PKB_AUTH=off is only for this machine, but {named}:")


@pytest.mark.parametrize("issuer", ["https://id.example.org", "http://localhost:8080/realms/a"])
def test_login_provider_without_tls_is_an_error(expose: Any, issuer: str) -> None:
    expose("auto", issuer=issuer)
    assert found() == []
    expose("auto", issuer="http://id.example.org")
    ((code, message),) = found()
    assert (code, "could log in as any user" in message) == ("pkb.E003", True)


def test_exposure_without_tls_gives_a_warning(expose: Any, settings: Any) -> None:
    expose("auto", bind="192.168.1.7")
    ((code, message),) = found()
    assert (code, "passwords and keys are sent unencrypted" in message) == ("pkb.W001", True)
    settings.PKB_TRUSTED_PROXIES = 1
    expose("auto", bind="192.168.1.7", is_behind_tls=True)
    assert found() == []


def test_proxy_without_trusted_proxies_gives_a_warning(expose: Any, settings: Any) -> None:
    expose("auto", is_behind_tls=True)
    ((code, message),) = found()
    assert (code, "all clients have the proxy's address" in message) == ("pkb.W004", True)
    settings.PKB_TRUSTED_PROXIES = 1
    assert found() == []
