"""Base classes of models and query sets."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import F

from corpus.access.principal import (
    current_principal,
    current_restricted_key_id,
    current_user_id,
)
from corpus.errors import NotAllowed
from corpus.postgres import execute

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


class LockableQuerySet(models.QuerySet[Row_co]):
    def lock_for_key_share(self, ids: Iterable[str]) -> set[str]:
        """Lock rows against deletion until the transaction ends; updates are not blocked.

        Returns:
            The ids that still exist.
        """
        table = self.model._meta.db_table
        query = f"SELECT id::text FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"  # noqa: S608
        keys = [self.model._meta.pk.to_python(key) for key in ids]
        return {key for (key,) in execute(query, [keys])}


def check_writable(rows: models.QuerySet[Any, Any]) -> None:
    """Raise an error if the principal may not change one of these rows.

    RLS silently skips hidden rows in a DELETE, and does not apply to statements as ``SYSTEM``.

    Raises:
        ProgrammingError: A row may only be read; clients get ``NotAllowed``.
        NotAllowed: A row is not visible any more.
    """
    if current_principal().sees_all:
        return
    key = rows.model._meta.pk.name
    keys = list(rows.order_by().values_list("pk", flat=True))
    if rows.model._default_manager.filter(pk__in=keys).update(**{key: F(key)}) < len(keys):
        raise NotAllowed("You no longer have permission to change this.")


class OwnedModel(models.Model):
    """A row that only its user sees.

    Attributes:
        made_by: None for commands and without a login; superusers then see the row.
    """

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        default=current_user_id,
        editable=False,
        related_name="+",
    )

    class Meta:
        abstract = True


class BoundModel(OwnedModel):
    """A row of one user that names no collection.

    Attributes:
        made_with: The key, if it is restricted to collections; it then sees only its own rows.
    """

    made_with = models.BigIntegerField(
        null=True, blank=True, default=current_restricted_key_id, editable=False
    )

    class Meta:
        abstract = True
