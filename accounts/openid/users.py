"""Find or create the user of an OpenID login, and update their groups."""

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
    """Return the user of the claims, with updated groups.

    Raises:
        LoginRefused: There is no such user, or the user may not log in.
    """
    subject = claims["sub"]
    if not isinstance(subject, str) or not _is_valid_name(subject, MAX_IDENTITY_CHARS):
        raise LoginRefused("The provider's token has no valid subject.")
    with connection.cursor() as cursor:  # concurrent first logins create one user
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('pkb.openid'))")
    identity = Identity.objects.filter(issuer=issuer, subject=subject).first()
    is_new = identity is None
    if identity is None:
        user = _find_by_email(claims, issuer=issuer)
        if user is None:
            if not settings.PKB_OIDC_CREATE_USERS:
                raise LoginRefused("You have no account here. Ask an administrator.")
            # An unverified address could be another person's, whose login would open this account.
            email = _read_email(claims) if _is_verified(claims) else ""
            # Without a usable password.
            user = get_user_model().objects.create_user(_free_name(claims), email=email)
        identity = Identity(issuer=issuer, subject=subject, user=user)
    if not identity.user.is_active:
        raise LoginRefused("The account is not active.")
    identity.last_used_at = timezone.now()
    identity.save()
    if is_new:
        record_event("link_login", subject=identity, user_id=identity.user_id)
    _set_groups(identity.user, claims)
    return identity.user


def _find_by_email(claims: Claims, *, issuer: str) -> Any:
    """Return the user with the claimed e-mail address; None if there is none.

    Raises:
        LoginRefused: There is one, but the claims do not prove the identity.
    """
    email = _read_email(claims)
    users = list(get_user_model().objects.filter(email__iexact=email)[:2]) if email else []
    if not users:
        return None
    if not _is_verified(claims):
        raise LoginRefused(
            "An account has this e-mail address, but the provider has not verified it."
        )
    if len(users) > 1:
        raise LoginRefused("Several accounts have this e-mail address.")
    # A provider may reassign an address: do not link it to the previous owner's account.
    if Identity.objects.filter(issuer=issuer, user=users[0]).exists():
        raise LoginRefused("The account with this e-mail address belongs to another identity.")
    return users[0]


def _free_name(claims: Claims) -> str:
    users = get_user_model().objects
    name = next(claims[key] for key in ("preferred_username", "email", "sub") if claims.get(key))
    stem = _NOT_IN_NAMES.sub("-", str(name))[:MAX_NAME_CHARS].strip("-") or "user"
    candidates = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(name for name in candidates if not users.filter(username__iexact=name).exists())


def _set_groups(user: Any, claims: Claims) -> None:
    """Replace groups and administrator rights by those of the claims, if configured."""
    value = claims.get(settings.PKB_OIDC_GROUPS_CLAIM)
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    names = {
        name for name in values if isinstance(name, str) and _is_valid_name(name, MAX_GROUP_CHARS)
    }
    if settings.PKB_OIDC_GROUPS_CLAIM:
        user.groups.set([Group.objects.get_or_create(name=name)[0] for name in sorted(names)])
    is_admin = settings.PKB_OIDC_ADMIN_GROUP in names
    if settings.PKB_OIDC_ADMIN_GROUP and {user.is_staff, user.is_superuser} != {is_admin}:
        user.is_staff = user.is_superuser = is_admin
        user.save(update_fields=["is_staff", "is_superuser"])
        record_event("make_staff" if is_admin else "dismiss_staff", subject=user, user_id=user.pk)


def _read_email(claims: Claims) -> str:
    email = claims.get("email")
    return email if isinstance(email, str) and _is_valid_name(email, MAX_EMAIL_CHARS) else ""


def _is_verified(claims: Claims) -> bool:
    # Some providers write their booleans as text.
    return claims.get("email_verified") in (True, "true")


def _is_valid_name(value: str, max_chars: int) -> bool:
    return 0 < len(value) <= max_chars and is_storable(value)
