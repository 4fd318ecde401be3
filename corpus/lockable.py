"""Rows that are kept in place, or asked about, before something is done with them."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models import F

from corpus.access.principal import current_principal
from corpus.errors import NotAllowed

_Row_co = TypeVar("_Row_co", bound=models.Model, covariant=True)


class LockableQuerySet(models.QuerySet[_Row_co]):
    def keep_in_place(self, ids: Iterable[str]) -> set[str]:
        """Keep rows from being deleted until the transaction ends; changes are not held up.

        Returns:
            The ids that are still there.
        """
        table = self.model._meta.db_table
        query = f"SELECT id::text FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"  # noqa: S608
        keys = [self.model._meta.pk.to_python(key) for key in ids]
        with connection.cursor() as cursor:
            cursor.execute(query, [keys])
            return {row[0] for row in cursor.fetchall()}


def check_writable(rows: models.QuerySet[Any, Any]) -> None:
    """Have the policies refuse who may not change one of these rows.

    What they hide from a DELETE is passed over in silence, and what is then done as ``SYSTEM`` they
    let pass.

    Raises:
        ProgrammingError: One of the rows is to be seen only; it is told as ``NotAllowed``.
        NotAllowed: One of them is not to be seen any more.
    """
    if current_principal().sees_all:
        return
    key = rows.model._meta.pk.name
    found = list(rows.order_by().values_list("pk", flat=True))
    if rows.model._default_manager.filter(pk__in=found).update(**{key: F(key)}) < len(found):
        raise NotAllowed("You may not change this any more.")
