"""Authenticate requests by API key or session."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.utils import timezone
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from accounts.client_ip import is_within
from accounts.models import ApiKey
from corpus.access.principal import ANONYMOUS, Principal, Scope
from corpus.errors import NotLoggedIn

# Minimum interval of updates of last_used_at.
LAST_USED_INTERVAL = timedelta(minutes=1)
# Format of our keys; others are rejected without a lookup.
_KEY_FORMAT = re.compile(r"pkb_[0-9a-f]{64}")
# The same message for all reasons, so that it does not reveal whether a key exists.
_REJECTION = "The key is unknown, expired or revoked, or may not come from this address."


class KeyAuthentication(TokenAuthentication):
    """knox's check of a key, which keeps expired and revoked keys."""

    def _cleanup_token(self, auth_token: ApiKey) -> bool:
        return auth_token.state != "active"


def find_key(headers: Mapping[str, str]) -> str | None:
    """Return the API key of a request; None if it has none.

    Ignore other schemes in Authorization, which a proxy may use and browsers then send.

    Args:
        headers: Headers with names in lower case.
    """
    kind, _, key = headers.get("authorization", "").strip().partition(" ")
    if kind.lower() != "bearer":
        key = headers.get("x-api-key", "")
    return key.strip() or None


def authenticate_key(key: str, *, address: str) -> Principal:
    """Return the principal of an API key.

    Args:
        address: IP address of the client.

    Raises:
        NotLoggedIn: The key is not valid, or not from this address.
    """
    if not _KEY_FORMAT.fullmatch(key):
        raise NotLoggedIn(_REJECTION)
    try:
        user, row = KeyAuthentication().authenticate_credentials(key.encode())
    except AuthenticationFailed as exc:
        raise NotLoggedIn(_REJECTION) from exc
    if row.networks and not is_within(address, row.networks):
        raise NotLoggedIn(_REJECTION)
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at > LAST_USED_INTERVAL:
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=now)
    # A key cannot have more scopes than its user has now.
    scopes = scopes_of(user) & {Scope(scope) for scope in row.scopes}
    collections = None if row.collections is None else tuple(row.collections)
    return replace(principal_of(user), scopes=scopes, key_id=row.pk, collections=collections)


def principal_of(user: AbstractBaseUser | AnonymousUser) -> Principal:
    if not (user.is_authenticated and user.is_active):
        return ANONYMOUS
    return Principal(
        user_id=user.pk, scopes=scopes_of(user), is_superuser=getattr(user, "is_superuser", False)
    )


def scopes_of(user: Any) -> frozenset[Scope]:
    """Return the scopes of a user: all for staff, otherwise read and ingest."""
    return frozenset(Scope) if user.is_staff else frozenset({Scope.READ, Scope.INGEST})
