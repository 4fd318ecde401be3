import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = "Serve the API and the pages on APP_HOST:APP_PORT."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.PKB_HOST)
        parser.add_argument("--port", type=int, default=settings.PKB_PORT)

    def handle(self, *args: Any, **options: Any) -> None:
        os.execv(  # noqa: S606  (no shell: the arguments go as they are)
            sys.executable,
            [
                sys.executable, "-m", "granian", "--interface", "asginl", "--workers", "1",
                "--host", options["host"], "--port", str(options["port"]),
                "--no-ws", "--respawn-failed-workers", "pkb.asgi:application",
            ],
        )  # fmt: skip
