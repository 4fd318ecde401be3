"""A service with a data folder of its own, for programs that are no tests."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pkb.databases import choose_postgres_dir
from tests.support.ports import free_port, is_ready
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
READY_WITHIN_S = 180


@dataclass(frozen=True)
class OwnService:
    """Where it is, and what of it is on this machine.

    Attributes:
        process: Its folder in /proc, of the process that was started.
        inbox: A folder below which it may read files.
        data: Its data folder.
        log: What it says.
        environment: Of its processes.
    """

    url: str
    process: Path
    inbox: Path
    data: Path
    log: Path
    environment: dict[str, str]


@contextmanager
def own_service(**environment: str) -> Iterator[OwnService]:
    """Serve from a data folder of its own; it is gone afterwards.

    Args:
        environment: Settings.

    Raises:
        AssertionError: It does not become ready.
    """
    with tempfile.TemporaryDirectory(prefix="pkb-own-") as folder:
        inbox, data, log = (Path(folder, name) for name in ("inbox", "data", "server.log"))
        inbox.mkdir()
        port = str(free_port())
        env = {
            **os.environ,
            "APP_PORT": port,
            "PKB_DATA_DIR": str(data),
            "PKB_INGEST_ROOTS": str(inbox),
            "PKB_MODEL_DIR": os.environ.get("PKB_MODEL_DIR", str(ROOT / "var" / "models")),
            **environment,
        }
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], env=env, check=True)
        with log.open("w") as output:
            server = subprocess.Popen([*manage, "serve"], env=env, stdout=output, stderr=output)
            try:
                url = f"http://127.0.0.1:{port}"
                wait_until(lambda: is_ready(url), timeout_s=READY_WITHIN_S, what=f"{url} is ready")
                yield OwnService(url, Path("/proc", str(server.pid)), inbox, data, log, env)
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(60)
                stop = [*manage, "postgres", "stop"]
                subprocess.run(stop, env=env, check=False, capture_output=True)
                # For root it is not in the data folder.
                shutil.rmtree(choose_postgres_dir(data), ignore_errors=True)
