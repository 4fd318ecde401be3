"""Keys are made, and taken back."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.audit import record_event
from accounts.authentication import scopes_of
from accounts.models import ApiKey
from corpus.access.principal import Scope
from corpus.errors import InvalidInput

MAX_DAYS = 3_650


@transaction.atomic
def make_key(
    user: Any,
    *,
    name: str,
    scopes: Iterable[str],
    days: int | None = None,
    networks: Sequence[str] = (),
) -> tuple[ApiKey, str]:
    """Make a key of a user.

    Args:
        days: It opens something for so long; None for ever.
        networks: Where it may come from, such as ``192.0.2.0/24``; empty for anywhere.

    Returns:
        What is kept of it, and the key itself, which nobody can tell again.

    Raises:
        InvalidInput: There is no such scope or network, or its user may not do that much.
    """
    key: tuple[ApiKey, str] = ApiKey.objects.create(
        user=user,
        name=name,
        scopes=_check_scopes(user, scopes),
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


def _check_network(given: str) -> str:
    try:
        return str(ip_network(given.strip()))
    except ValueError as exc:
        raise InvalidInput(f"{given!r} is no network such as 192.0.2.0/24", field="from") from exc
