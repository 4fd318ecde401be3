"""The first user: made at an address that only the terminal is told."""

from datetime import timedelta
from hashlib import sha256
from secrets import token_urlsafe

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import SetupAddress

VALID_FOR = timedelta(minutes=15)


def needs_setup() -> bool:
    """Tell whether nobody could log in."""
    return not get_user_model().objects.filter(is_active=True).exists()


def create_setup_token() -> str:
    """Return the token of a new set-up address; those of before open nothing any more."""
    token = token_urlsafe(32)
    with transaction.atomic():
        SetupAddress.objects.all().delete()
        SetupAddress.objects.create(
            token_sha256=_hash(token), expires_at=timezone.now() + VALID_FOR
        )
    return token


def is_setup_token_valid(token: str) -> bool:
    """Tell whether the first user can be made with it."""
    return _kept(token).exists() and needs_setup()


def consume_setup_token(token: str) -> bool:
    """Use a token up, within a transaction; whether it was still valid."""
    count, _ = _kept(token).delete()
    return bool(count) and needs_setup()


def _kept(token: str) -> QuerySet[SetupAddress]:
    return SetupAddress.objects.filter(token_sha256=_hash(token), expires_at__gt=timezone.now())


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()
