"""Which database is used, and where the embedded one keeps its files."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from pydantic import SecretStr

from pkb.databases import REQUEST_WAIT_S, choose_postgres_dir, read_databases, set_request_timeouts
from pkb.env import Env
from pkb.postgres.embedded.base import DatabaseWrapper


def test_a_given_address_is_taken_apart(tmp_path: Path) -> None:
    env = Env(
        DATABASE_URL=SecretStr("postgresql://ida:s%40lt@db.example:5433/notes?sslmode=require")
    )
    databases, postgres_dir = read_databases(env, tmp_path)
    default = databases["default"]
    assert postgres_dir is None
    assert (default["NAME"], default["USER"], default["PASSWORD"]) == ("notes", "ida", "s@lt")
    assert (default["HOST"], default["PORT"]) == ("db.example", 5433)
    assert default["OPTIONS"]["sslmode"] == "require"


def test_a_given_host_is_used_and_otherwise_the_embedded_server(tmp_path: Path) -> None:
    databases, postgres_dir = read_databases(Env(POSTGRES_HOST="db"), tmp_path)
    assert postgres_dir is None
    assert databases["default"]["HOST"] == "db"
    databases, postgres_dir = read_databases(Env(DATABASE_URL=None, POSTGRES_HOST=""), tmp_path)
    assert postgres_dir is not None
    assert databases["default"]["ENGINE"] == "pkb.postgres.embedded"


def test_files_are_where_the_server_may_go(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    chosen = choose_postgres_dir(tmp_path)
    if os.geteuid() == 0:
        assert chosen.parent == Path("/var/lib/pkb")
        assert chosen != choose_postgres_dir(tmp_path / "other")
    else:
        assert chosen == tmp_path / "postgres"


@pytest.mark.parametrize("url", ["mysql://host/name", "postgresql://host", "nonsense"])
def test_a_bad_address_stops_the_start(tmp_path: Path, url: str) -> None:
    with pytest.raises(SystemExit):
        read_databases(Env(DATABASE_URL=SecretStr(url)), tmp_path)


def test_requests_are_cut_short_and_other_work_is_not(tmp_path: Path, settings: Any) -> None:
    settings.PKB_STATEMENT_TIMEOUT_S = 1.5
    settings.PKB_LOCK_TIMEOUT_S = 2
    databases, _ = read_databases(Env(POSTGRES_HOST="db", PKB_DB_POOL_SIZE=7), tmp_path)
    options = databases["default"]["OPTIONS"]
    assert "timeout" not in options["options"]
    assert options["pool"]["timeout"] > REQUEST_WAIT_S
    set_request_timeouts(databases, settings)
    assert "-c statement_timeout=1500 -c lock_timeout=2000" in options["options"]
    assert "-c idle_in_transaction_session_timeout=1500" in options["options"]
    assert options["pool"] == {
        "min_size": 0, "max_size": 7, "timeout": REQUEST_WAIT_S, "max_waiting": 7, "max_idle": 60,
    }  # fmt: skip


@pytest.mark.skipif(settings.PKB_POSTGRES_DIR is None, reason="the tests have a server of yours")
def test_dbshell_finds_the_embedded_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    psql = tmp_path / "psql"
    psql.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given\n')
    psql.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    unasked = {**connection.settings_dict, "HOST": "", "PORT": ""}
    DatabaseWrapper(unasked).client.runshell(["-c", "SELECT 1"])
    address = connection.get_connection_params()
    given = (tmp_path / "given").read_text()
    assert f"-U {address['user']} -h {address['host']} -p {address['port']} -c SELECT 1" in given
