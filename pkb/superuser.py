"""Password check for the superuser that the environment names."""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import CommandError


def check_superuser() -> None:
    """Reject a superuser whose password is weak.

    Raises:
        CommandError: ``DJANGO_SUPERUSER_PASSWORD`` violates AUTH_PASSWORD_VALIDATORS, or is
            empty.
    """
    chosen = settings.PKB_SUPERUSER
    named = get_user_model()(username=chosen["username"], email=chosen["email"])
    try:
        validate_password(chosen["password"], named)
    except ValidationError as exc:
        reasons = " ".join(exc.messages)
        raise CommandError(
            f"DJANGO_SUPERUSER_PASSWORD: {reasons} No superuser was created."
        ) from exc
