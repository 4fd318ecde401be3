"""Keys are made, and taken back."""

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
    """Make a key of a user.

    Args:
        days: It opens something for so long; None for ever.
        networks: Where it may come from, such as ``192.0.2.0/24``; empty for anywhere.
        collections: What they call those that it is bound to; empty for all that they may see.

    Returns:
        What is kept of it, and the key itself, which nobody can tell again.

    Raises:
        InvalidInput: There is no such scope or network, or its user may not do that much.
        CollectionNotFound: There is none of such a name that its user may see.
    """
    checked = _check_scopes(user, scopes)
    if collections and Scope.ADMIN in checked:
        raise InvalidInput("admin is about all collections", field="scopes")
    key: tuple[ApiKey, str] = ApiKey.objects.create(
        user=user,
        name=name,
        scopes=checked,
        collections=_find_bounds(user, collections),
        networks=[_check_network(each) for each in networks],
        expiry=timedelta(days=days) if days else None,
    )
    record_event("make_key", subject=key[0])
    return key


@transaction.atomic
def revoke_key(key: ApiKey) -> None:
    """Have a key open nothing from now on; that it was there is kept."""
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        record_event("revoke_key", subject=key)


def _check_scopes(user: Any, scopes: Iterable[str]) -> list[str]:
    wanted = sorted(set(scopes))
    allowed = sorted(scopes_of(user))
    if not wanted or not set(wanted) <= set(allowed):
        raise InvalidInput(f"any of {', '.join(allowed)}", field="scopes")
    return [Scope(each).value for each in wanted]


def _find_bounds(user: Any, names: Sequence[str]) -> list[int] | None:
    with acting_as(principal_of(user)):
        return [Collection.objects.get_named(name).pk for name in names] or None


def _check_network(given: str) -> str:
    try:
        return str(ip_network(given.strip()))
    except ValueError as exc:
        raise InvalidInput(f"{given!r} is no network such as 192.0.2.0/24", field="from") from exc
