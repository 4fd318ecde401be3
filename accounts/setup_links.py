"""One-time setup links, with which the first user is created."""

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
    """Return whether there is no active user."""
    return not get_user_model().objects.filter(is_active=True).exists()


def create_setup_token() -> str:
    """Return the token of a new setup link; earlier links become invalid."""
    token = token_urlsafe(32)
    with transaction.atomic():
        SetupAddress.objects.all().delete()
        digest = sha256(token.encode()).hexdigest()
        SetupAddress.objects.create(token_sha256=digest, expires_at=timezone.now() + VALID_FOR)
    return token


def is_setup_token_valid(token: str) -> bool:
    """Return whether the first user can be created with this token."""
    return _valid_links(token).exists() and needs_setup()


def consume_setup_token(token: str) -> bool:
    """Delete a token, in a transaction, and return whether it was valid."""
    count, _ = _valid_links(token).delete()
    return bool(count) and needs_setup()


def _valid_links(token: str) -> QuerySet[SetupAddress]:
    digest = sha256(token.encode()).hexdigest()
    return SetupAddress.objects.filter(token_sha256=digest, expires_at__gt=timezone.now())
