import os
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from qa.checks import CONFIGURATION


class Command(BaseCommand):
    help = "Serve the API and the pages on APP_HOST:APP_PORT, with a worker beside them."
    requires_system_checks = [CONFIGURATION]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.PKB_HOST)
        parser.add_argument("--port", type=int, default=settings.PKB_PORT)

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PKB_WORKER == "auto" and settings.PKB_POSTGRES_DIR is not None:
            _start_worker()
        os.execv(  # noqa: S606  (no shell: the arguments go as they are)
            sys.executable,
            [
                sys.executable, "-m", "granian", "--interface", "asginl", "--workers", "1",
                "--host", options["host"], "--port", str(options["port"]),
                "--no-ws", "--respawn-failed-workers", "pkb.asgi:application",
            ],
        )  # fmt: skip


def _start_worker() -> None:
    """Start a worker that ends with this process, which is about to become the server's."""
    # One thread: answers come first.
    threads = {"OMP_NUM_THREADS": "1", "PKB_MODEL_THREADS": "1"}
    subprocess.Popen(  # noqa: S603  (our own command)
        [sys.executable, str(settings.PKB_MANAGE), "worker", "--parent", str(os.getpid())],
        cwd=settings.PKB_MANAGE.parent,
        env={**threads, **os.environ},
        stdin=subprocess.DEVNULL,
    )
