"""Whom of our users a provider means, and what it says of their groups."""

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.utils import timezone

from accounts.audit import record_event
from accounts.models import MAX_IDENTITY_CHARS, Identity
from corpus.characters import is_storable
from corpus.errors import LoginRefused

Claims = Mapping[str, Any]

MAX_NAME_CHARS = 100
MAX_GROUP_CHARS = 150
MAX_EMAIL_CHARS = 254
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")


@transaction.atomic
def find_user(claims: Claims, *, issuer: str) -> Any:
    """Return whom the provider means, with the groups that it tells now.

    Raises:
        LoginRefused: Nobody here, or somebody who may not log in.
    """
    subject = claims["sub"]
    if not isinstance(subject, str) or not _is_name(subject, MAX_IDENTITY_CHARS):
        raise LoginRefused("The provider does not say who it is.")
    with connection.cursor() as cursor:  # two first logins of one person at once make one user
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('pkb.openid'))")
    identity = Identity.objects.filter(issuer=issuer, subject=subject).first()
    is_new = identity is None
    if identity is None:
        user = _find_by_email(claims, issuer=issuer) or _make_user(claims)
        identity = Identity(issuer=issuer, subject=subject, user=user)
    if not identity.user.is_active:
        raise LoginRefused("The account is closed.")
    identity.last_used_at = timezone.now()
    identity.save()
    if is_new:
        record_event("link_login", subject=identity, user_id=identity.user_id)
    _set_groups(identity.user, claims)
    return identity.user


def _find_by_email(claims: Claims, *, issuer: str) -> Any:
    """Return the one user of this address; None where there is none.

    Raises:
        LoginRefused: There is one, whom the provider does not show this to be.
    """
    email = _read_email(claims)
    found = list(get_user_model().objects.filter(email__iexact=email)[:2]) if email else []
    if not found:
        return None
    if not _is_verified(claims):
        raise LoginRefused("An account has this address, which the provider has not verified.")
    if len(found) > 1:
        raise LoginRefused("Several accounts have this address.")
    # An address may be given to somebody new: who had it before stays apart.
    if Identity.objects.filter(issuer=issuer, user=found[0]).exists():
        raise LoginRefused("The account of this address belongs to another login there.")
    return found[0]


def _make_user(claims: Claims) -> Any:
    if not settings.PKB_OIDC_CREATE_USERS:
        raise LoginRefused("There is no account for you here: ask who looks after it.")
    users = get_user_model()
    # One not verified could be another's, who would be given this account when they come.
    email = _read_email(claims) if _is_verified(claims) else ""
    # Without a password: none opens it.
    return users.objects.create_user(_free_name(claims), email=email)


def _free_name(claims: Claims) -> str:
    names = get_user_model().objects
    told = next(claims[name] for name in ("preferred_username", "email", "sub") if claims.get(name))
    wanted = _NOT_IN_NAMES.sub("-", str(told))[:MAX_NAME_CHARS].strip("-") or "user"
    tried = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    return next(name for name in tried if not names.filter(username__iexact=name).exists())


def _set_groups(user: Any, claims: Claims) -> None:
    """Have the provider's word on groups be the last, where it is asked for."""
    told = claims.get(settings.PKB_OIDC_GROUPS_CLAIM)
    listed = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    names = {name for name in listed if isinstance(name, str) and _is_name(name, MAX_GROUP_CHARS)}
    if settings.PKB_OIDC_GROUPS_CLAIM:
        user.groups.set([Group.objects.get_or_create(name=name)[0] for name in sorted(names)])
    is_admin = settings.PKB_OIDC_ADMIN_GROUP in names
    if settings.PKB_OIDC_ADMIN_GROUP and {user.is_staff, user.is_superuser} != {is_admin}:
        user.is_staff = user.is_superuser = is_admin
        user.save(update_fields=["is_staff", "is_superuser"])
        record_event("make_staff" if is_admin else "dismiss_staff", subject=user, user_id=user.pk)


def _read_email(claims: Claims) -> str:
    email = claims.get("email")
    return email if isinstance(email, str) and _is_name(email, MAX_EMAIL_CHARS) else ""


def _is_verified(claims: Claims) -> bool:
    # Some providers write their booleans as text.
    return claims.get("email_verified") in (True, "true")


def _is_name(given: str, longest: int) -> bool:
    return 0 < len(given) <= longest and is_storable(given)
