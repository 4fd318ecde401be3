"""Create and revoke API keys."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.audit import record_event
from accounts.authentication import principal_of, scopes_of
from accounts.models import ApiKey
from corpus.access.principal import Scope, acting_as
from corpus.errors import InvalidInput
from corpus.models import Collection

MAX_DAYS = 3_650


@transaction.atomic
def create_key(
    user: Any,
    *,
    name: str,
    scopes: Iterable[str],
    days: int | None = None,
    networks: Sequence[str] = (),
    collections: Sequence[str] = (),
) -> tuple[ApiKey, str]:
    """Create an API key for a user.

    Args:
        days: Days until the key expires; None: never.
        networks: Allowed networks, such as ``192.0.2.0/24``; empty: all.
        collections: Names of collections that the key is limited to; empty: all of the user.

    Returns:
        The stored row, and the key itself, which is not stored.

    Raises:
        InvalidInput: A scope or network is not valid, or the user lacks a scope.
        CollectionNotFound: The user cannot see a collection.
    """
    requested, allowed = sorted(set(scopes)), scopes_of(user)
    if not requested or not set(requested) <= allowed:
        raise InvalidInput(f"use any of {', '.join(sorted(allowed))}", field="scopes")
    if collections and Scope.ADMIN in requested:
        raise InvalidInput("the scope admin covers all collections", field="scopes")
    with acting_as(principal_of(user)):
        collection_ids = [Collection.objects.get_named(each).pk for each in collections]
    try:
        allowed_networks = [str(ip_network(each.strip())) for each in networks]
    except ValueError as exc:
        raise InvalidInput(f"{exc}; name one such as 192.0.2.0/24", field="from") from exc
    row, key = ApiKey.objects.create(
        user=user,
        name=name,
        scopes=[Scope(each).value for each in requested],
        collections=collection_ids or None,
        networks=allowed_networks,
        expiry=timedelta(days=days) if days else None,
    )
    record_event("make_key", subject=row)
    return row, key


@transaction.atomic
def revoke_key(key: ApiKey) -> None:
    """Revoke a key; its row stays."""
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        record_event("revoke_key", subject=key)
