"""Command to start, stop, show or upgrade the embedded PostgreSQL."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from pkb.postgres.programs import PostgresDidNotStart
from pkb.postgres.server import SUPERUSER, EmbeddedPostgres
from pkb.postgres.upgrade import OldCluster
from pkb.postgres.versions import cluster_version, installed_major, installed_version

EXTERNAL = "an external database is configured; the embedded Postgres does not run"


class Command(BaseCommand):
    help = (
        "Start, stop, show or upgrade the embedded PostgreSQL. Exit status of `status`: 0 if "
        "it runs, 1 if not."
    )
    # The checks need the database, which this command starts.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status", "upgrade"], help="action")
        parser.add_argument(
            "--programs", type=Path, metavar="FOLDER",
            help="programs of the old version, with pgvector",
        )  # fmt: skip

    def handle(self, *args: Any, action: str, programs: Path | None = None, **options: Any) -> None:
        state_dir: Path | None = settings.PKB_POSTGRES_DIR
        if state_dir is None:
            if action != "status":
                raise CommandError(EXTERNAL)
            self.stdout.write(EXTERNAL)
            return
        try:
            if action == "upgrade":
                self._upgrade(state_dir, programs)
            else:
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
        running = ""
        if is_up:
            host, port = server.address["HOST"], server.address["PORT"]
            with psycopg.connect(
                host=host, port=port, user=SUPERUSER, dbname="postgres"
            ) as connection:
                running = connection.info.parameter_status("server_version") or ""
        if running and not f"{installed_version()}.".startswith(f"{running}."):
            self.stdout.write(
                f"Postgres {running} runs; {installed_version()} is installed and runs after a"
                " restart."
            )
        if action == "status" and not is_up:
            raise SystemExit(1)

    def _upgrade(self, state_dir: Path, programs: Path | None) -> None:
        written = cluster_version(state_dir / "data")
        if written is None or written >= installed_major():
            EmbeddedPostgres(state_dir).start()
            self.stdout.write(f"Nothing to do: {state_dir} has Postgres {installed_major()}.")
            return
        upgraded = OldCluster(state_dir).upgrade(programs)
        self.stdout.write(
            f"Upgraded Postgres {written} to {installed_version()}, with all"
            f" {upgraded.row_count} rows of {upgraded.table_count} tables."
        )
        call_command("migrate", verbosity=0)
        try:
            call_command("verify", stdout=self.stdout)
        except SystemExit as error:
            raise CommandError(f"The old cluster is unchanged: {upgraded.old}") from error
        self.stdout.write(f"To delete the old cluster, run: rm -r {upgraded.old}")
