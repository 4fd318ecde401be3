"""Apply a migration and record it in one transaction."""

from contextlib import ExitStack
from typing import Any

from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

Target = tuple[str, str | None]


class AtomicMigrations(ExitStack):
    """Wraps each migration and its record in one transaction, by Django's progress callback.

    Django itself records some migrations after their commit. If it is killed in between, the next
    run repeats the migration and fails at the existing table.
    """

    def follow(self, action: str, migration: Any = None, fake: bool | None = None) -> None:
        """Begin or commit a transaction; this is Django's ``progress_callback``."""
        if action in {"apply_start", "unapply_start"} and migration.atomic:
            self.enter_context(transaction.atomic(durable=True))
        if action in {"apply_success", "unapply_success"}:
            self.close()


def migrate_to(targets: list[Target]) -> None:
    """Migrate forwards or backwards to the given migrations."""
    with AtomicMigrations() as whole:
        MigrationExecutor(connection, whole.follow).migrate(targets)
