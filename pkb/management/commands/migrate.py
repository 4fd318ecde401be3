from typing import Any

from django.core.management.commands import migrate

from corpus.postgres.owner import as_owner
from pkb.postgres.grants import grant_to_application


class Command(migrate.Command):
    help = f"{migrate.Command.help} It is done by their owner, who lets the service use them."

    def handle(self, *args: Any, **options: Any) -> None:
        with as_owner():
            super().handle(*args, **options)
            if not options["plan"]:
                grant_to_application()
