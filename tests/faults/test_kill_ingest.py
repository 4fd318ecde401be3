"""Kill -9 an ingest at ten points: nothing half is left, and a second run completes it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests.factories import long_text

ROOT = Path(__file__).parents[2]
KILL_COUNT = 10
DOCUMENT_COUNT = 12


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: pytest.FixtureDef[None]) -> Iterator[str]:
    """An empty database beside the tests' own, for processes that commit."""
    name = f"test_faults_{os.getpid()}"
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
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


def manage(*arguments: str, database: str) -> subprocess.Popen[str]:
    env = {**os.environ, "DATABASE_URL": database, "PKB_DATA_DIR": str(settings.DATA_DIR)}
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def finish(*arguments: str, database: str) -> str:
    process = manage(*arguments, database=database)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    return out


def test_an_ingest_killed_at_ten_points_leaves_no_half_document(
    database: str, tmp_path: Path
) -> None:
    for number in range(DOCUMENT_COUNT):
        text = long_text(8).replace("Entry", f"Note {number}")
        (tmp_path / f"{number:02}.txt").write_text(text)
    finish("migrate", "--verbosity", "0", database=database)
    for point in range(KILL_COUNT):
        process = manage("ingest", str(tmp_path), "--json", database=database)
        assert process.stdout is not None
        # The first line says that models are loaded and one file is in; from there on the
        # points lie in the middle of encoding, storing and between files.
        process.stdout.readline()
        time.sleep(0.13 * point)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert finish("verify", database=database).endswith("0 violations\n")
    finish("ingest", str(tmp_path), database=database)
    assert finish("verify", database=database).endswith("0 violations\n")
    with psycopg.connect(database) as reader:
        rows = reader.execute("SELECT source_uri, status FROM corpus_document").fetchall()
    assert sorted(rows) == sorted((path.as_uri(), "completed") for path in tmp_path.glob("*.txt"))
