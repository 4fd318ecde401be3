"""What tells whether a collection is still the one that was read."""

from collections.abc import Iterable
from uuid import UUID, uuid4

from django.db import models

# Of a collection as one reader sees it; once anything of it changes no version is ever the same.
Version = frozenset[UUID]


class CollectionChangeQuerySet(models.QuerySet["CollectionChange"]):
    def versions_of(self, collection_ids: Iterable[int]) -> dict[int, Version]:
        """Return the version of each collection that has one."""
        rows = self.filter(collection_id__in=list(collection_ids))
        found: dict[int, set[UUID]] = {}
        for collection_id, change in rows.values_list("collection_id", "id"):
            found.setdefault(collection_id, set()).add(change)
        return {collection_id: frozenset(changes) for collection_id, changes in found.items()}


class CollectionChange(models.Model):
    """A transaction that changed what a collection answers; written by triggers.

    Each takes the place of those committed before it that nobody else is replacing, so that there
    are few, and no writer waits for another. All that a reader sees are the collection's version.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # No foreign key: triggers append rows while a collection is being deleted.
    collection_id = models.BigIntegerField(db_index=True)

    objects = CollectionChangeQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.id} of {self.collection_id}"
