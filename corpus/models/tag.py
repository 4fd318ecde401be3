"""Tags of a collection's documents."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Exists, OuterRef, Q, Sum
from django.db.models.functions import Coalesce

from corpus.models.base import LockableQuerySet
from corpus.models.collection import Collection, DocumentCount, sum_of


class TagQuerySet(LockableQuerySet["Tag"]):
    def names_in_use(self) -> models.QuerySet[Tag, str]:
        """Return the distinct names of tags that documents have, in order."""
        links: Any = self.model._meta.get_field("documents")
        rows = links.through._default_manager.filter(tag=OuterRef("pk"))
        return self.filter(Exists(rows)).order_by("name").values_list("name", flat=True).distinct()

    def counts_by_name(self) -> Any:
        """Return ``name``, ``document_count`` and ``chunk_count`` over all collections."""
        own = self.alias(
            own_documents=_tag_count("document_count"), own_chunks=_tag_count("chunk_count")
        )
        return (
            own.values("name")
            .annotate(document_count=Sum("own_documents"), chunk_count=Sum("own_chunks"))
            .order_by("name")
        )

    def with_counts(self) -> Self:
        """Annotate ``document_count`` and ``chunk_count``."""
        return self.annotate(
            document_count=_tag_count("document_count"), chunk_count=_tag_count("chunk_count")
        )


def _tag_count(column: str) -> Coalesce:
    """Return the count of a tag that triggers maintain."""
    rows = DocumentCount.objects.filter(collection_id=OuterRef("collection_id"))
    return sum_of(column, rows, key="tag_id")


class Tag(models.Model):
    """A tag of a collection's documents, trimmed and in lower case."""

    collection = models.ForeignKey(
        Collection, models.CASCADE, related_name="own_tags", db_index=False
    )
    name = models.CharField(max_length=64)

    objects = TagQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                "collection",
                "name",
                name="tag_name_once_in_a_collection",
                violation_error_message="A tag of this name already exists there.",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="tag_name_is_not_empty"),
        ]
        indexes = [models.Index("name", name="tag_by_name")]

    def __str__(self) -> str:
        return self.name
