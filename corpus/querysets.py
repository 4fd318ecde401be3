"""Reads over the corpus; every search query of the product is here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from django.contrib.postgres.search import SearchQuery
from django.db import connection, models
from django.db.models import Count, Exists, F, OuterRef
from django.db.models.functions import Cast
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from corpus.bm25 import Bm25Score, LexicalQuery
from corpus.errors import CollectionNotFound

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus.models import Chunk, Collection, Document, Embedding  # noqa: F401


class LockableQuerySet(models.QuerySet[Any]):
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


class CollectionQuerySet(LockableQuerySet, models.QuerySet["Collection"]):
    def named(self, name: str) -> Collection:
        """Return the collection of that name.

        Raises:
            CollectionNotFound: There is none.
        """
        collection = self.filter(name=name).first()
        if collection is None:
            raise CollectionNotFound(f"There is no collection {name!r}.")
        return collection

    def counted(self) -> Self:
        """Annotate ``document_count`` and ``chunk_count``."""
        return self.annotate(
            document_count=Count("documents", distinct=True),
            chunk_count=Count("documents__chunks", distinct=True),
        )


class DocumentQuerySet(LockableQuerySet, models.QuerySet["Document"]):
    def listed(self) -> Self:
        """Leave the text out and bring the tags along: what a list of documents shows."""
        return (
            self.defer("raw_text", "outline").select_related("collection").prefetch_related("tags")
        )

    def tagged(self, names: Iterable[str]) -> Self:
        """Keep documents that carry any of the names; all of them where no name is given."""
        wanted = list(names)
        if not wanted:
            return self
        through = self.model.tags.through.objects  # type: ignore[attr-defined]
        carried = through.filter(document=OuterRef("pk"), tag__name__in=wanted)
        return self.filter(Exists(carried))

    def mentioning(self, text: str) -> Self:
        """Keep documents whose title, address or text has ``text`` in it, in any case."""
        return self.filter(
            models.Q(title__icontains=text)
            | models.Q(source_uri__icontains=text)
            | models.Q(raw_text__icontains=text)
        )


class ChunkQuerySet(LockableQuerySet, models.QuerySet["Chunk"]):
    def tagged(self, names: Iterable[str]) -> Self:
        """Keep chunks that carry any of the names; all of them where no name is given."""
        wanted = list(names)
        if not wanted:
            return self
        through = self.model.tags.through.objects  # type: ignore[attr-defined]
        return self.filter(Exists(through.filter(chunk=OuterRef("pk"), tag__name__in=wanted)))

    def shown(self) -> Self:
        """Bring along what a list of chunks shows."""
        return self.defer("lexemes").select_related("collection").prefetch_related("tags")

    def matching(self, query: LexicalQuery) -> Self:
        """Keep chunks that have one of the query's telling words, best first.

        Annotates ``bm25``: the BM25 score over all words of the query, above 0.
        """
        terms = SearchQuery(query.candidates, search_type="raw", config="simple")
        return (
            self.filter(lexemes=terms)
            .annotate(bm25=Bm25Score(query))
            .order_by(F("bm25").desc(), "pk")
        )


class EmbeddingQuerySet(models.QuerySet["Embedding"]):
    def tagged(self, names: Iterable[str]) -> Self:
        """Keep vectors of chunks that carry any of the names; all where no name is given."""
        wanted = list(names)
        if not wanted:
            return self
        through = self.model.chunk.field.related_model.tags.through.objects  # type: ignore[attr-defined]
        carried = through.filter(chunk=OuterRef("chunk_id"), tag__name__in=wanted)
        return self.filter(Exists(carried))

    def nearest(self, vector: NDArray[np.float32], *, model: str) -> Self:
        """Order the model's vectors by ``distance``: cosine, in [0, 2], smallest first.

        The expression is the one the model's index is built on; in half precision, which
        moves a distance by less than 0.001.
        """
        dimension = len(vector)
        stored = Cast("vector", HalfVectorField(dimensions=dimension))
        distance = CosineDistance(stored, HalfVector(vector))
        return self.filter(model=model).annotate(distance=distance).order_by("distance")

    def of_inputs(self, hashes: Sequence[str], *, model: str) -> dict[str, NDArray[np.float32]]:
        """Return the vectors that the model gave to these inputs before, by input hash."""
        rows = self.filter(model=model, input_sha256__in=hashes).order_by("input_sha256")
        return dict(rows.distinct("input_sha256").values_list("input_sha256", "vector"))
