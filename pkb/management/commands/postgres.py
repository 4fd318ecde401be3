"""`manage.py postgres`: start, stop, or look at the embedded Postgres."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pkb.postgres.account import PostgresDidNotStart
from pkb.postgres.server import EmbeddedPostgres

EXTERNAL = "an external database is configured; nothing of the embedded Postgres runs"


class Command(BaseCommand):
    help = "Start, stop, or look at the embedded Postgres. Exit code of status: 0 up, 1 down."
    # The checks need the database, which is what this command is there to start.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status"])

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        state_dir: Path | None = settings.PKB_POSTGRES_DIR
        if state_dir is None:
            if action != "status":
                raise CommandError(EXTERNAL)
            self.stdout.write(EXTERNAL)
            return
        try:
            self._act(EmbeddedPostgres(state_dir), action)
        except PostgresDidNotStart as error:
            raise CommandError(str(error)) from error

    def _act(self, server: EmbeddedPostgres, action: str) -> None:
        if action == "start":
            server.start()
        elif action == "stop":
            server.stop()
        is_up = server.is_accepting()
        state = f"up, process {server.pid}" if is_up else "down"
        self.stdout.write(f"{state}: {server.state_dir}")
        if action == "status" and not is_up:
            raise SystemExit(1)
