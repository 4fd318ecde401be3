"""Real processes of the product on a database of their own, which they commit to."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections

from corpus.invariants import find_violations
from tests.support.ports import free_port, is_ready
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
# Shared with data folders of their own: what is in it is named by the weights it was made of.
MODELS = Path(settings.DATA_DIR) / "models"
# The role that processes connect as, and beside it the owner's, which the tests are.
SERVING = {key: connection.settings_dict.get(key, "") for key in ("USER", "PASSWORD")}
OWNER = SERVING | connection.settings_dict.get("OWNER", {})
# What is found is no matter where these are used: no process loads weights.
SMALL_MODELS = {
    "EMBEDDING_MODEL": "hashing-64",
    "RERANKER_MODEL": "none",
    "PKB_READER": "none",
    "PKB_TOKEN_VECTORS": "off",
}
# Where a service says that its pages are.
PAGES = "https://kb.localhost"


@contextmanager
def own_database(name: str, *, embedding_model: str = "") -> Iterator[str]:
    """Make a migrated database beside the tests' own; yields its URL, of the role that serves.

    Args:
        embedding_model: The default collection's; empty for the configured one.
    """
    with administering() as admin:
        migrated = template(embedding_model or os.environ.get("EMBEDDING_MODEL", ""))
        _drop(admin, name)
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {migrated}")
        yield database_url(name)
        _drop(admin, name)


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Let this process use another database, and a connection of its own to it."""
    ours: Any = connections[DEFAULT_DB_ALIAS]  # django-stubs knows no pool
    former = ours.settings_dict["NAME"]
    ours.close()
    ours.close_pool()
    del connections[DEFAULT_DB_ALIAS]  # the next use makes one, of the same settings
    ours.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]
        ours.settings_dict["NAME"] = former
        connections[DEFAULT_DB_ALIAS] = ours


@cache
def template(embedding_model: str) -> str:
    """Migrate a database once a run, for all that are copied from it; returns its name.

    Args:
        embedding_model: The default collection's; empty for the configured one.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    name = f"test_template_{re.sub(r'[^a-z0-9]+', '_', embedding_model.lower())}"
    made_by = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
    with administering() as admin:
        admin.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])  # the connection's
        if admin.execute(made_by, [name]).fetchone() != (run,):
            _drop(admin, name)
            admin.execute(f"CREATE DATABASE {name}")
            to = {"database": database_url(name), "EMBEDDING_MODEL": embedding_model}
            migrating = manage("migrate", "--verbosity", "0", **to)
            _, errors = migrating.communicate(timeout=240)
            assert migrating.returncode == 0, errors
            admin.execute(f"COMMENT ON DATABASE {name} IS '{run}'")
    return name


def _drop(admin: psycopg.Connection, name: str) -> None:
    """Drop a database with whoever is connected to it.

    Not WITH (FORCE): a role that is no superuser may not end an autovacuum worker in it, and is
    refused; a plain DROP ends that one, and waits for it.
    """
    end_sessions(admin, name)
    admin.execute(f"DROP DATABASE IF EXISTS {name}")


def end_sessions(admin: psycopg.Connection, name: str) -> None:
    ours = [SERVING["USER"], OWNER["USER"]]
    connected = "FROM pg_stat_activity WHERE datname = %s AND usename = ANY(%s)"
    admin.execute(f"SELECT pg_terminate_backend(pid) {connected}", [name, ours])


@contextmanager
def administering(database: str = "postgres") -> Iterator[psycopg.Connection]:
    """Connect as the owner of what the tests make."""
    with psycopg.connect(_url(database, **OWNER), autocommit=True) as admin:
        yield admin


def database_url(name: str) -> str:
    return _url(name, **SERVING)


def _url(name: str, *, USER: str, PASSWORD: str) -> str:  # noqa: N803 -- as Django has them
    at = {key: connection.get_connection_params().get(key, "") for key in ("host", "port")}
    return f"postgresql://{USER}:{PASSWORD}@/{name}?host={at['host']}&port={at['port']}"


def environment(database: str, **env: str) -> dict[str, str]:
    """Return the environment of a process that uses this database as the role that serves."""
    return {
        **os.environ,
        "DATABASE_URL": database,
        "POSTGRES_OWNER": OWNER["USER"],
        "POSTGRES_OWNER_PASSWORD": OWNER["PASSWORD"],
        "PKB_DATA_DIR": str(settings.DATA_DIR),
        "PKB_MODEL_DIR": str(MODELS),
        "PKB_MODEL_THREADS": "1",
        **env,
    }


def manage(*arguments: str, database: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(database, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(*arguments: str, database: str) -> tuple[int, str, str]:
    process = manage(*arguments, database=database)
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def run_python(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def find_broken(database: str) -> list[str]:
    """Return what breaks a promise in a database, as ``verify`` tells it."""
    with connected_to(name_of(database)):
        return list(map(str, find_violations()))


def name_of(database: str) -> str:
    return urlsplit(database).path.removeprefix("/")


def wait_for_environment(name: str) -> Path:
    """Wait for packages that ``scripts/test`` installs while other tests run; returns where.

    They want others than the service does.
    """
    folder = ROOT / f".venv-{name}"
    installed, wanted = folder / "uv.lock", (ROOT / "uv.lock").read_bytes()
    wait_until(lambda: installed.is_file() and installed.read_bytes() == wanted, timeout_s=240)
    return folder


def read(database: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database, options="-c pkb.principal=*") as reader:
        return list(reader.execute(query.encode()).fetchall())


@contextmanager
def served(database: str, **env: str) -> Iterator[str]:
    """Serve the product; yields the address once it is ready."""
    port = str(free_port())
    server = manage("serve", database=database, APP_PORT=port, PKB_WORKER="off", **env)
    # A full pipe would stop the server.
    log = Thread(target=server.communicate, daemon=True)
    log.start()
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: is_ready(address))
        yield address
    finally:
        server.terminate()
        log.join(60)
