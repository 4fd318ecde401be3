"""Who may do what with a collection: shown to its owners, and changed by them."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet

from corpus.access.principal import Scope, current_principal
from corpus.errors import GrantNotFound, InvalidInput, NotAllowed
from corpus.models import Collection, Grant


def get_owned_collection(address: str) -> Collection:
    """Return a collection whose grants who acts may see and change.

    Raises:
        CollectionNotFound: There is none that they may read.
        NotAllowed: They may read it, and no more than that.
    """
    collection = Collection.objects.get_named(address)
    if not Collection.objects.owned().filter(pk=collection.pk).exists():
        raise NotAllowed("Only its owners see and change who may do what with a collection.")
    return collection


def list_grants(collection: Collection) -> QuerySet[Grant]:
    return collection.grants.select_related("user", "group").order_by("pk")


@transaction.atomic
def grant_role(collection: Collection, role: str, *, user: str = "", group: str = "") -> Grant:
    """Let a user or a group do what a role may; another role takes the place of theirs.

    Raises:
        InvalidInput: There is nobody of that name, or not one of the two is named.
        NotAllowed: Who acts does so by a key that is bound to collections.
    """
    _reject_bound_key()
    if bool(user) == bool(group):
        raise InvalidInput("Name a user or a group.", field="user")
    to: dict[str, Any] = {"user": _find_user(user)} if user else {"group": _find_group(group)}
    grant, _ = Grant.objects.update_or_create(collection=collection, **to, defaults={"role": role})
    return grant


def revoke_grant(collection: Collection, grant_id: int) -> None:
    """Have a grant hold no more, from the next statement on.

    Raises:
        GrantNotFound: The collection has none of that id.
        NotAllowed: As of ``grant_role``.
    """
    _reject_bound_key()
    deleted, _ = collection.grants.filter(pk=grant_id).delete()
    if not deleted:
        raise GrantNotFound(f"There is no grant {grant_id} of this collection.")


def set_public(collection: Collection, *, is_public: bool) -> None:
    """Let every user read a collection, or no longer.

    Raises:
        NotAllowed: As of ``grant_role``.
    """
    _reject_bound_key()
    Collection.objects.filter(pk=collection.pk).update(is_public=is_public)


def _reject_bound_key() -> None:
    """Reject a key for uploads: who it let in would stay when it leaked and is revoked."""
    principal = current_principal()
    if principal.collections is not None and not principal.has_scope(Scope.ADMIN):
        raise NotAllowed("A key that is bound to collections lets nobody else in: log in.")


def _find_user(name: str) -> Any:
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        raise InvalidInput(f"There is no user {name!r}.", field="user")
    return user


def _find_group(name: str) -> Group:
    """Return a group of who acts; of others it is not told whether they are there."""
    principal = current_principal()
    groups = Group.objects.filter(name=name)
    if not (principal.sees_all or principal.is_superuser):
        groups = groups.filter(user=principal.user_id)
    group = groups.first()
    if group is None:
        raise InvalidInput(f"There is no group {name!r}.", field="group")
    return group
