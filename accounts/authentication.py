"""Who sends a request: the user of its key, or of its session."""

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

# That a key is in use is noted this often, and not at each request.
LAST_USED_INTERVAL = timedelta(minutes=1)
# As knox makes them by our settings: what looks otherwise is not looked up.
_FORM = re.compile(r"pkb_[0-9a-f]{64}")
# One that can be refused for another reason must not tell that it exists.
_REFUSAL = "The key is unknown, expired or revoked, or may not come from this address."


class KeyAuthentication(TokenAuthentication):
    """knox's check of a key, which here leaves expired and revoked ones to be looked at."""

    def _cleanup_token(self, auth_token: ApiKey) -> bool:
        return auth_token.state != "active"


def find_key(headers: Mapping[str, str]) -> str | None:
    """Return the key that a request brings; None where it brings none.

    What else than a key stands in Authorization is a proxy's matter, as browsers send it along
    with our own pages' requests.

    Args:
        headers: By names in lower case.
    """
    kind, _, key = headers.get("authorization", "").strip().partition(" ")
    if kind.lower() != "bearer":
        key = headers.get("x-api-key", "")
    return key.strip() or None


def authenticate_key(key: str, *, address: str) -> Principal:
    """Return on whose behalf a key acts.

    Args:
        address: Where it comes from.

    Raises:
        NotLoggedIn: It opens nothing, or not from there.
    """
    if not _FORM.fullmatch(key):
        raise NotLoggedIn(_REFUSAL)
    try:
        user, found = KeyAuthentication().authenticate_credentials(key.encode())
    except AuthenticationFailed as exc:
        raise NotLoggedIn(_REFUSAL) from exc
    if found.networks and not is_within(address, found.networks):
        raise NotLoggedIn(_REFUSAL)
    _update_last_used(found)
    # What its user may no longer do, no key of theirs does.
    scopes = scopes_of(user) & {Scope(scope) for scope in found.scopes}
    bounds = None if found.collections is None else tuple(found.collections)
    return replace(principal_of(user), scopes=scopes, key_id=found.pk, collections=bounds)


def principal_of(user: AbstractBaseUser | AnonymousUser) -> Principal:
    """Return on whose behalf a session acts."""
    if not (user.is_authenticated and user.is_active):
        return ANONYMOUS
    return Principal(
        user_id=user.pk, scopes=scopes_of(user), is_superuser=getattr(user, "is_superuser", False)
    )


def scopes_of(user: Any) -> frozenset[Scope]:
    """Return what a user may do: all but staff's matters, and those too if they are staff."""
    return frozenset(Scope) if user.is_staff else frozenset({Scope.READ, Scope.INGEST})


def _update_last_used(key: ApiKey) -> None:
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > LAST_USED_INTERVAL:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
