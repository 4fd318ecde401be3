"""A service of its own: server, worker and embedded Postgres of one data folder."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TextIO

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg

from pkb.postgres import OWNER
from pkb.postgres.server import EmbeddedPostgres
from tests.support.ports import free_port, is_ready
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
READY_WITHIN_S = 300
COMMAND_WITHIN_S = 600
# Small models that need no file: what is stored and read is what matters here.
SMALL_MODELS = {
    "EMBEDDING_MODEL": "hashing-64",
    "RERANKER_MODEL": "none",
    "PKB_READER": "none",
    "PKB_TOKEN_VECTORS": "off",
    "PKB_MODEL_THREADS": "1",
    "LOG_LEVEL": "WARNING",
}


class Installation:
    """One data folder with all that runs on it.

    Attributes:
        environment: Of every process that is started from now on.
        inbox: A folder whose files may be taken in.
        postgres: Its embedded server, whether the service reaches that directly or not.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.inbox = folder / "inbox"
        self.inbox.mkdir(exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.postgres = EmbeddedPostgres(self.data / "postgres")
        self.environment = {
            **os.environ,
            **SMALL_MODELS,
            "APP_PORT": str(self.port),
            "PKB_DATA_DIR": str(self.data),
            "PKB_INGEST_ROOTS": str(self.inbox),
            "PKB_WORKER": "off",
            **settings,
        }
        self._log: TextIO = (folder / "service.log").open("a")
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._started: list[subprocess.Popen[bytes]] = []

    def migrate(self) -> None:
        self.succeed("migrate", "--verbosity", "0")

    def revive(self) -> None:
        """Start what does not run; return when the service is ready.

        A server ends, to be started again, where its answering process died twice within seconds.
        """

        def is_ready_again() -> bool:
            self.revive_processes()
            return is_ready(self.url)

        wait_until(is_ready_again, timeout_s=READY_WITHIN_S, what="/ready answers 200")

    def revive_processes(self) -> None:
        """Start the server and the worker where they do not run."""
        for name, command in (("server", "serve"), ("worker", "worker")):
            if not self.is_alive(name):
                self._running[name] = self.start(command)

    def is_alive(self, name: str) -> bool:
        return name in self._running and self._running[name].poll() is None

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command of ``manage.py`` in a session of its own."""
        process = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def command(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of ``manage.py`` to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=COMMAND_WITHIN_S,
            check=False,
        )

    def succeed(self, *arguments: str, **environment: str) -> str:
        """Run a command to its end; returns what it printed.

        Raises:
            AssertionError: It failed; with what it said.
        """
        done = self.command(*arguments, **environment)
        assert done.returncode == 0, f"{arguments}: {done.stdout[-500:]}{done.stderr[-1500:]}"
        return done.stdout

    def kill(self, name: str) -> None:
        """Kill -9 the server or the worker, with all its processes."""
        process = self._running.pop(name)
        kill_session(process)

    def pids(self, name: str) -> list[int]:
        """Return the processes of the server or the worker that its first one started."""
        try:
            found = psutil.Process(self._running[name].pid).children(recursive=True)
        except (KeyError, psutil.NoSuchProcess):
            return []
        return [process.pid for process in found]

    def stop_service(self) -> None:
        """Kill server and worker, and stop the embedded Postgres."""
        for name in list(self._running):
            self.kill(name)
        self.postgres.stop()

    def client(self, timeout_s: float = 60) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=timeout_s)

    def read(self, query: str, database: str = "pkb") -> list[tuple[Any, ...]]:
        with self.connect(database) as connection:
            return connection.execute(query.encode()).fetchall()

    def connect(self, database: str = "pkb", *, user: str = OWNER) -> "psycopg.Connection[Any]":
        """Connect to the embedded server itself, past any proxy; it is started if it is down."""
        self.postgres.start()
        return psycopg.connect(self.database_url(database, user=user), autocommit=True)

    def database_url(self, database: str, *, user: str = OWNER) -> str:
        """As an address of libpq, by which every row is seen."""
        at = self.postgres.address
        sees_all = "options=-c%20pkb.principal%3D*"
        return f"postgresql://{user}@/{database}?host={at['HOST']}&port={at['PORT']}&{sees_all}"

    def end(self) -> None:
        for process in self._running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            for process in self._running.values():
                process.wait(20)
        for process in self._started:
            kill_session(process)
        self.postgres.stop()
        self._log.close()


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """Kill -9 a process that has not ended, and all of its group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def installed(
    settings: Mapping[str, str] | None = None, *, folder: Path | None = None
) -> Iterator[Installation]:
    """Serve from a folder of its own, which is gone afterwards, or from a given one."""
    with nullcontext(folder) if folder else own_folder() as chosen:
        installation = Installation(chosen, settings or {})
        try:
            installation.migrate()
            installation.revive()
            yield installation
        finally:
            installation.end()


@contextmanager
def own_folder() -> Iterator[Path]:
    """Yield a folder that the user of the embedded Postgres can enter."""
    folder = Path(tempfile.mkdtemp(prefix="pkb-campaign-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
