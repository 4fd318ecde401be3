"""A migration and the note that it was done, in one transaction."""

from contextlib import ExitStack
from typing import Any

from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

Target = tuple[str, str | None]


class AtomicMigrations(ExitStack):
    """What Django tells of its progress begins and commits the transaction of each migration.

    Left to itself, Django notes after the commit what makes tables with references, and all that is
    undone: killed between the two, it would do it again, and stop at the table that is there.
    """

    def follow(self, action: str, migration: Any = None, fake: bool | None = None) -> None:
        """Be told as Django's ``progress_callback``."""
        if action in {"apply_start", "unapply_start"} and migration.atomic:
            self.enter_context(transaction.atomic(durable=True))
        if action in {"apply_success", "unapply_success"}:
            self.close()


def migrate_to(targets: list[Target]) -> None:
    """Migrate forwards or backwards to the last migration of each app that is named."""
    with AtomicMigrations() as whole:
        MigrationExecutor(connection, whole.follow).migrate(targets)
