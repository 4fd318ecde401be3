"""Reads over the corpus; every search query of the product is here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from django.apps import apps
from django.contrib.postgres.search import SearchQuery
from django.db import connection, models
from django.db.models import Count, Exists, F, OuterRef
from django.db.models.functions import Cast, Substr
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from corpus.bm25 import Bm25Score, LexicalQuery
from corpus.errors import CollectionNotFound

_Row_co = TypeVar("_Row_co", bound=models.Model, covariant=True)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus.models import Chunk, Collection, Document, Embedding, Tag  # noqa: F401


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


class TaggableQuerySet(LockableQuerySet[_Row_co]):
    """Rows that carry tags.

    Attributes:
        tag_link: The model that links rows and tags, its field for a row, and that row's key.
    """

    tag_link: ClassVar[tuple[str, str, str]]

    def tagged(self, names: Iterable[str]) -> Self:
        """Keep rows that carry any of the names; all of them where no name is given."""
        wanted = list(names)
        if not wanted:
            return self
        model, field, key = self.tag_link
        links = apps.get_model("corpus", model)._default_manager
        return self.filter(Exists(links.filter(**{field: OuterRef(key)}, tag__name__in=wanted)))


class CollectionQuerySet(LockableQuerySet["Collection"]):
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
            document_count=Count(
                "documents", filter=~models.Q(documents__content_sha256=""), distinct=True
            ),
            chunk_count=Count("documents__chunks", distinct=True),
        )


class TagQuerySet(models.QuerySet["Tag"]):
    def in_use(self) -> Self:
        """Keep tags that a document carries."""
        return self.filter(documents__isnull=False).distinct()


class DocumentQuerySet(TaggableQuerySet["Document"]):
    tag_link = ("Document_tags", "document", "pk")

    def listed(self) -> Self:
        """Leave the text out and bring the tags along: what a list of documents shows."""
        return (
            self.defer("raw_text", "outline").select_related("collection").prefetch_related("tags")
        )

    def stored(self) -> Self:
        """Keep documents that have a version: what is searched, counted and cited."""
        return self.exclude(content_sha256="")

    def of_file(self, *hashes: str, collection_id: int) -> Self:
        """Keep documents whose stored version was read from a file of one of these hashes."""
        # A failed one remembers the hash of the bytes that failed, beside its old version.
        rows = self.stored().exclude(status="failed")
        return rows.filter(collection_id=collection_id, file_hash__in=hashes)

    def below(self, folder_uri: str) -> Self:
        """Keep documents that came from files in the folder, however deep."""
        return self.filter(source_uri__startswith=f"{folder_uri.rstrip('/')}/")

    def slice_of_text(self, start: int, end: int) -> str:
        """Return characters ``start:end`` of the one document's text, without reading the rest."""
        part = Substr("raw_text", start + 1, end - start)
        return str(self.values_list(part, flat=True).get())

    def mentioning(self, text: str) -> Self:
        """Keep documents whose title, address or text has ``text`` in it, in any case."""
        return self.filter(
            models.Q(title__icontains=text)
            | models.Q(source_uri__icontains=text)
            | models.Q(raw_text__icontains=text)
        )


class ChunkQuerySet(TaggableQuerySet["Chunk"]):
    tag_link = ("ChunkTag", "chunk", "pk")

    def shown(self) -> Self:
        """Bring along what a list of chunks shows."""
        return self.defer("lexemes").select_related("collection").prefetch_related("tags")

    def touching(self, start: int, end: int) -> Self:
        """Keep chunks that share a character with ``start:end`` of their document, in order."""
        return self.filter(start_char__lt=end, end_char__gt=start).order_by("ordinal")

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


class EmbeddingQuerySet(TaggableQuerySet["Embedding"]):
    tag_link = ("ChunkTag", "chunk", "chunk_id")

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
