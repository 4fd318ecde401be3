"""Embedded servers of tests' own, and the processes that use them."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from pkb.postgres import OWNER
from pkb.postgres.server import EmbeddedPostgres
from tests.support.waiting import wait_until

REPOSITORY = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not IS_ROOT, reason="root changes to another user")
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")

STARTER = """
import sys
from pathlib import Path
from pkb.postgres.server import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.start()
print(server.pid)
"""
LINGERING_CLIENT = (
    STARTER
    + """
import psycopg, time
connection = psycopg.connect(server._conninfo)
connection.execute("SELECT 1")
print("connected", flush=True)
time.sleep(600)
"""
)
# The postmaster becomes this process's child, and a zombie when killed: it is never waited for,
# as in a container whose first process reaps nothing.
NEGLIGENT_PARENT = (
    """
import ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
"""
    + STARTER
    + """
import time
sys.stdout.flush()
time.sleep(600)
"""
)
# Python itself may lie where only root can read it: import first, then change the user.
AS_NOBODY = (
    """
import os, pwd, sys
from pkb.postgres.programs import PostgresDidNotStart
from pkb.postgres.server import EmbeddedPostgres
nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
"""
    + STARTER
)
COMMAND = """
import json, sys
from pathlib import Path
import django
from django.conf import settings
from pkb.management.commands.postgres import Command
state_dir = json.loads(sys.argv[1])
settings.configure(PKB_POSTGRES_DIR=state_dir and Path(state_dir))
django.setup()
Command().run_from_argv(["manage.py", "postgres", *sys.argv[2:]])
"""


@contextmanager
def reachable_directory() -> Iterator[Path]:
    """Yield a directory that the server's user can enter, unlike pytest's tmp_path for root."""
    directory = Path(tempfile.mkdtemp(prefix="pkb-faults-postgres-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@contextmanager
def cluster_in(state_dir: Path) -> Iterator[EmbeddedPostgres]:
    cluster = EmbeddedPostgres(state_dir)
    try:
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(cluster._socket_dir, ignore_errors=True)


def connect(
    server: EmbeddedPostgres, database: str = "postgres", user: str = OWNER
) -> psycopg.Connection[Any]:
    at = server.address
    return psycopg.connect(
        host=at["HOST"], port=at["PORT"], user=user, dbname=database, autocommit=True
    )


def ask(
    server: EmbeddedPostgres, question: str, database: str = "postgres", user: str = OWNER
) -> Any:
    with connect(server, database, user) as connection:
        row = connection.execute(question.encode()).fetchone()
    return row and row[0]


def postmaster(server: EmbeddedPostgres) -> int:
    pid = server.pid
    assert pid is not None
    return pid


def kill_postmaster(server: EmbeddedPostgres) -> int:
    pid = postmaster(server)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.pid is None)
    return pid


def ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def name_in_pid_files(server: EmbeddedPostgres, pid: int) -> None:
    for path in (
        server.state_dir / "data" / "postmaster.pid",
        server._socket_dir / ".s.PGSQL.5432.lock",
    ):
        _, rest = path.read_text().split("\n", 1)
        path.write_text(f"{pid}\n{rest}")
