"""Real processes of the product on a database of their own, which they commit to."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import psycopg
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).parents[1]


@contextmanager
def own_database(name: str) -> Iterator[str]:
    """Make an empty database beside the tests' own; yields its URL."""
    parameters = connection.get_connection_params()
    address = {
        key: value
        for key, value in parameters.items()
        if key in {"host", "port", "user", "password"} and value
    }
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {name}")
        yield (
            f"postgresql://{address['user']}:{address.get('password', '')}@/{name}"
            f"?host={address['host']}&port={address['port']}"
        )
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def manage(*arguments: str, database: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": database,
            "PKB_DATA_DIR": str(settings.DATA_DIR),
            "PKB_MODEL_THREADS": "1",
            **env,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(*arguments: str, database: str) -> tuple[int, str, str]:
    process = manage(*arguments, database=database)
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def wait_until(is_so: Callable[[], bool], *, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.05)


def read(database: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database) as reader:
        return list(reader.execute(query.encode()).fetchall())


@contextmanager
def served(database: str, **env: str) -> Iterator[str]:
    """Serve the product from an empty database; yields the address once it is ready."""
    status, _, errors = finish("migrate", database=database)
    assert status == 0, errors
    port = str(_free_port())
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


def _free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/ready").status_code == 200
    except httpx.TransportError:
        return False
