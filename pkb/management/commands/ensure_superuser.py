from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Create the administrator of DJANGO_SUPERUSER_USERNAME, unless one exists."

    def handle(self, *args: Any, **options: Any) -> None:
        superuser = settings.PKB_SUPERUSER
        users = get_user_model().objects
        if not superuser["username"] or users.filter(username=superuser["username"]).exists():
            return
        check_superuser()
        users.create_superuser(**superuser)
        self.stdout.write(f"Superuser {superuser['username']} created.")


def check_superuser() -> None:
    """Reject a superuser whose password is weak.

    Raises:
        CommandError: ``DJANGO_SUPERUSER_PASSWORD`` violates AUTH_PASSWORD_VALIDATORS, or is
            empty.
    """
    superuser = settings.PKB_SUPERUSER
    user = get_user_model()(username=superuser["username"], email=superuser["email"])
    try:
        validate_password(superuser["password"], user)
    except ValidationError as exc:
        reasons = " ".join(exc.messages)
        raise CommandError(
            f"DJANGO_SUPERUSER_PASSWORD: {reasons} No superuser was created."
        ) from exc
