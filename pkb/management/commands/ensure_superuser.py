from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand

from pkb.superuser import check_superuser


class Command(BaseCommand):
    help = "Create the administrator of DJANGO_SUPERUSER_USERNAME, unless one exists."

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = settings.PKB_SUPERUSER
        users = get_user_model().objects
        if not chosen["username"] or users.filter(username=chosen["username"]).exists():
            return
        check_superuser()
        users.create_superuser(chosen["username"], chosen["email"], chosen["password"])
        self.stdout.write(f"Superuser {chosen['username']} created.")
