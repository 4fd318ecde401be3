"""Reads over collections and their tags, for who acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from django.apps import apps
from django.db import models
from django.db.models import (
    Aggregate,
    Case,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from corpus.access.principal import current_principal, current_user_id
from corpus.errors import CollectionNotFound, NotAllowed
from corpus.lexical import TOTAL, IsAnyOf
from corpus.lockable import LockableQuerySet
from corpus.models.document_counts import ANY_TAG
from corpus.postgres.prepared import fetch_prepared
from corpus.storable import is_storable

if TYPE_CHECKING:
    from corpus.models import Collection, Tag

_MODEL_KEPT = "SELECT embedding_model FROM corpus_collection WHERE id = %s FOR KEY SHARE"


class CollectionQuerySet(LockableQuerySet["Collection"]):
    def find(self, address: str) -> Collection | None:
        """Return the collection that a name, or a name and its owner's, means for who acts.

        A bare name means one's own, else one without an owner; never somebody else's, who could
        name one so that others' texts go there. ``handbook@ida`` is Ida's, ``handbook@`` one
        without an owner.
        """
        name, at, owner = address.partition("@")
        rows = self.filter(name=name) if is_storable(address) else self.none()
        if owner:
            return rows.filter(owner__username=owner).first()
        own = Q(owner=None) if at else Q(owner=None) | Q(owner=current_user_id())
        return rows.filter(own).order_by(F("owner").asc(nulls_last=True)).first()

    def writable(self) -> Self:
        """Keep collections that who acts may change the documents of."""
        return self.filter(_is_among("pkb_writable"))

    def owned(self) -> Self:
        """Keep collections that who acts may change, delete and grant."""
        return self.filter(_is_among("pkb_owned"))

    def with_role(self) -> Self:
        """Annotate ``role``, one of ``Grant.Role``: that of who acts."""
        owner = When(_is_among("pkb_owned"), then=Value("owner"))
        writer = When(_is_among("pkb_writable"), then=Value("writer"))
        return self.annotate(role=Case(owner, writer, default=Value("reader")))

    def named_to_write(self, address: str) -> Collection:
        """Return the collection that ``find`` finds, if its documents may be changed.

        Raises:
            CollectionNotFound: There is none, or none that who acts may see.
            NotAllowed: They may read it only.
        """
        collection: Any = self.annotate(is_writable=_is_among("pkb_writable")).named(address)
        if not collection.is_writable:
            raise NotAllowed(f"You may read the collection {address!r}, but not change it.")
        return cast("Collection", collection)

    def named(self, address: str) -> Collection:
        """Return the collection that ``find`` finds.

        Raises:
            CollectionNotFound: There is none, or none that who acts may see.
        """
        collection = self.find(address)
        if collection is None:
            raise CollectionNotFound(f"There is no collection {address!r}.")
        return collection

    def model_of(self, collection_id: int) -> str | None:
        """Return the model of today, which stays until the transaction ends; None if it is gone."""
        found = fetch_prepared(_MODEL_KEPT, [collection_id])
        return str(found[0][0]) if found else None

    def counted(self) -> Self:
        """Annotate ``document_count`` and ``chunk_count``."""
        # Both are counted as they are written.
        documents = _rows_of("DocumentCount").filter(tag_id=ANY_TAG)
        counts = _rows_of("TermCount").filter(lexeme=TOTAL)
        return self.annotate(
            document_count=_total(Sum("document_count"), documents, "collection_id"),
            chunk_count=_total(Sum("chunk_count"), counts, "collection_id"),
        )


class TagQuerySet(LockableQuerySet["Tag"]):
    def names_in_use(self) -> models.QuerySet[Tag, str]:
        """Return the names of tags that a document carries, each once, in order."""
        used = self.filter(Exists(_rows_of("Document_tags").filter(tag=OuterRef("pk"))))
        return used.order_by("name").values_list("name", flat=True).distinct()

    def counted_by_name(self) -> Any:
        """Return ``name``, ``document_count`` and ``chunk_count`` over all collections."""
        own = self.alias(own_documents=_kept("document_count"), own_chunks=_kept("chunk_count"))
        return (
            own.values("name")
            .annotate(document_count=Sum("own_documents"), chunk_count=Sum("own_chunks"))
            .order_by("name")
        )

    def counted(self) -> Self:
        """Annotate ``document_count`` and ``chunk_count``."""
        return self.annotate(
            document_count=_kept("document_count"), chunk_count=_kept("chunk_count")
        )


def _rows_of(model: str) -> Any:
    """The models name these query sets, so they cannot be imported here."""
    return apps.get_model("corpus", model)._default_manager.all()


def _total(total: Aggregate, rows: models.QuerySet[Any], key: str) -> Coalesce:
    """Add up the rows whose ``key`` is that of the row outside; 0 where there are none.

    One look-up for each row that is shown: a join would first make all of them, and of two joins
    the product.
    """
    own = rows.filter(**{key: OuterRef("pk")}).order_by().values(key)
    return Coalesce(Subquery(own.annotate(total=total).values("total")), 0, output_field=_WHOLE)


def _kept(column: str) -> Coalesce:
    """Add up what was counted of a tag as it was written."""
    counts = _rows_of("DocumentCount").filter(collection_id=OuterRef("collection_id"))
    return _total(Sum(column), counts, "tag_id")


def _is_among(function: str) -> Q:
    """Tell whether the row is a collection that the function of Postgres names."""
    if current_principal().sees_all:
        return Q(pk__isnull=False)
    return Q(IsAnyOf(F("pk"), Func(template=f"(SELECT {function}())::bigint[]")))


_WHOLE = models.BigIntegerField()
