"""The superuser that the environment names: made only with a password that keeps to the rules."""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import CommandError


def check_superuser() -> None:
    """Refuse a superuser whose password is easily guessed.

    Raises:
        CommandError: ``DJANGO_SUPERUSER_PASSWORD`` breaks a rule of AUTH_PASSWORD_VALIDATORS, or is
            empty.
    """
    chosen = settings.PKB_SUPERUSER
    named = get_user_model()(username=chosen["username"], email=chosen["email"])
    try:
        validate_password(chosen["password"], named)
    except ValidationError as exc:
        reasons = " ".join(exc.messages)
        raise CommandError(f"DJANGO_SUPERUSER_PASSWORD: {reasons} No superuser was made.") from exc
