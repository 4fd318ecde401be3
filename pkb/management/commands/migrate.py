from typing import Any

from django.core.management.commands import migrate

from corpus.postgres import as_owner
from pkb.management.atomic_migrations import AtomicMigrations
from pkb.postgres.role_grants import grant_to_application


class Command(migrate.Command):
    """Django's command, run as the owner of the tables; if it is killed, run it again."""

    help = f"{migrate.Command.help} Runs as the owner of the tables."

    def handle(self, *args: Any, **options: Any) -> None:
        with as_owner(), AtomicMigrations() as self._whole:
            super().handle(*args, **options)
            if not options["plan"]:
                grant_to_application()

    def migration_progress_callback(
        self, action: str, migration: Any = None, fake: bool = False
    ) -> None:
        self._whole.follow(action, migration, fake)
        super().migration_progress_callback(action, migration, fake)
