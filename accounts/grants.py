"""Grants of a collection, managed by its owners."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet

from corpus.access.principal import Scope, current_principal
from corpus.errors import GrantNotFound, InvalidInput, NotAllowed
from corpus.models import Collection, Grant


def get_owned_collection(address: str) -> Collection:
    """Return a collection that the current principal owns.

    Raises:
        CollectionNotFound: It does not exist, or the principal may not read it.
        NotAllowed: The principal may read it, but does not own it.
    """
    collection = Collection.objects.get_named(address)
    if not Collection.objects.owned().filter(pk=collection.pk).exists():
        raise NotAllowed("Only owners of a collection may see and change its access.")
    return collection


def list_grants(collection: Collection) -> QuerySet[Grant]:
    return collection.grants.select_related("user", "group").order_by("pk")


@transaction.atomic
def grant_role(collection: Collection, role: str, *, user: str = "", group: str = "") -> Grant:
    """Give a user or a group a role, which replaces their previous one.

    Raises:
        InvalidInput: The user or group does not exist, or not exactly one of them is named.
        NotAllowed: The current API key is limited to collections.
    """
    _reject_bound_key()
    if bool(user) == bool(group):
        raise InvalidInput("Enter a user or a group.", field="user")
    users = get_user_model().objects.filter(username=user, is_active=True)
    groups, principal = Group.objects.filter(name=group), current_principal()
    # Do not reveal whether groups of others exist.
    if not (principal.sees_all or principal.is_superuser):
        groups = groups.filter(user=principal.user_id)
    kind, grantee = ("user", users.first()) if user else ("group", groups.first())
    if grantee is None:
        raise InvalidInput(f"There is no {kind} {user or group!r}.", field=kind)
    to: dict[str, Any] = {kind: grantee}
    grant, _ = Grant.objects.update_or_create(collection=collection, **to, defaults={"role": role})
    return grant


def revoke_grant(collection: Collection, grant_id: int) -> None:
    """Revoke a grant immediately.

    Raises:
        GrantNotFound: The collection has no grant with this id.
        NotAllowed: As ``grant_role``.
    """
    _reject_bound_key()
    deleted, _ = collection.grants.filter(pk=grant_id).delete()
    if not deleted:
        raise GrantNotFound(f"This collection has no grant {grant_id}.")


def set_public(collection: Collection, *, is_public: bool) -> None:
    """Share a collection with all users, or make it private.

    Raises:
        NotAllowed: As ``grant_role``.
    """
    _reject_bound_key()
    Collection.objects.filter(pk=collection.pk).update(is_public=is_public)


def _reject_bound_key() -> None:
    """Reject a key that is limited to collections: its grants would outlast its revocation."""
    principal = current_principal()
    if principal.collections is not None and Scope.ADMIN not in principal.scopes:
        raise NotAllowed("A key that is limited to collections cannot share them: log in.")
