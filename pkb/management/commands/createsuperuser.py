from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from pkb.management.commands.ensure_superuser import check_superuser


class Command(createsuperuser.Command):
    """Django's command, which also validates the password if it runs without input."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        if not options["interactive"]:
            check_superuser()
        return super().handle(*args, **options)
