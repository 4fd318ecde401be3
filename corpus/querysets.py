"""Query sets of documents, chunks and vectors, with all search queries."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain
from operator import and_, or_
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import orjson
from django.apps import apps
from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.search import SearchQuery
from django.db import connection, models, transaction
from django.db.models import (
    Case,
    Exists,
    F,
    FilteredRelation,
    Func,
    OuterRef,
    Q,
    Value,
    When,
)
from django.db.models.functions import Cast, Least, Substr
from pgvector.django import CosineDistance, HalfVectorField

from corpus.access.principal import SYSTEM, acting_as, current_principal
from corpus.errors import NotAllowed
from corpus.filters import Comparison, Compound, Filter
from corpus.lexical import (
    SCORED_CHUNKS,
    Bm25Score,
    IsAnyOf,
    LexicalQuery,
    OpenPhrase,
    phrase_condition,
)
from corpus.postgres.prepared import fetch_prepared
from corpus.roots.shown_paths import matching
from corpus.vector_index import count_indexed, scaled_ef_search

if TYPE_CHECKING:
    from uuid import UUID

    from numpy.typing import NDArray

    from corpus.models import (  # noqa: F401
        Chunk,
        Collection,
        Document,
        Embedding,
        Tag,
        TokenVectors,
    )


_Row_co = TypeVar("_Row_co", bound=models.Model, covariant=True)


class LockableQuerySet(models.QuerySet[_Row_co]):
    def lock_for_key_share(self, ids: Iterable[str]) -> set[str]:
        """Lock rows against deletion until the transaction ends; updates are not blocked.

        Returns:
            The ids that still exist.
        """
        table = self.model._meta.db_table
        query = f"SELECT id::text FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"  # noqa: S608
        keys = [self.model._meta.pk.to_python(key) for key in ids]
        with connection.cursor() as cursor:
            cursor.execute(query, [keys])
            return {row[0] for row in cursor.fetchall()}


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
    found = list(rows.order_by().values_list("pk", flat=True))
    if rows.model._default_manager.filter(pk__in=found).update(**{key: F(key)}) < len(found):
        raise NotAllowed("You no longer have permission to change this.")


# Up to so many vectors are compared exactly; for more, the model's index is searched
# (docs/decisions/0012).
EXACT_SCAN_ROWS = 5_000
# With more vectors in the index, the limit grows: the index scans invisible vectors until it has
# found enough, and each costs as much as a comparison (docs/decisions/0012).
INDEXED_ROWS = 250_000
# Rows read from the index for each result: its relaxed order may return near vectors late.
INDEX_OVERSAMPLING = 2
_IS_KNOWN = """
SELECT FROM corpus_embedding WHERE model = %s AND input_sha256 = ANY(%s::text[]) LIMIT 1
"""


def exact_scan_limit(indexed: int) -> int:
    """Return the maximum number of vectors to compare exactly, for an index of this size."""
    return round(EXACT_SCAN_ROWS * max(1.0, math.sqrt(indexed / INDEXED_ROWS)))


class TaggableQuerySet(LockableQuerySet[_Row_co]):
    """Rows that carry tags and belong to a document.

    Attributes:
        tag_link: The model that links rows and tags, its field for the row, and the row's key.
        to_document: The lookup prefix from a row to its document's fields.
    """

    tag_link: ClassVar[tuple[str, str, str]]
    to_document: ClassVar[str]

    def matching_filter(self, wanted: Filter) -> Self:
        """Keep rows whose document matches the filter."""
        return self.filter(_condition(wanted, self.to_document))

    def tagged(self, names: Iterable[str]) -> Self:
        """Keep rows with any of the tags; all rows if no name is given.

        The tag ids are read first, so that the planner can estimate the rows of each tag.
        """
        wanted = list(names)
        if not wanted:
            return self
        known = list(_rows_of("Tag").filter(name__in=wanted).values_list("pk", flat=True))
        model, field, key = self.tag_link
        links = _rows_of(model)
        return self.filter(Exists(links.filter(**{field: OuterRef(key)}, tag__in=known)))


def delete_without_text(collector: Any, field: Any, documents: Any, using: str) -> None:
    """Delete the documents of a collection without reading their texts."""
    models.CASCADE(collector, field, documents.only("pk", "collection"), using)


delete_without_text.lazy_sub_objs = True  # type: ignore[attr-defined]


class DocumentQuerySet(TaggableQuerySet["Document"]):
    tag_link = ("Document_tags", "document", "pk")
    to_document = ""

    def listed(self) -> Self:
        """Defer the text and prefetch the tags, for lists."""
        return (
            self.defer("raw_text", "outline")
            .select_related("collection__owner")
            .prefetch_related("tags")
        )

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete documents that the principal may change, with dependent rows of other users.

        Dependent rows of other users are invisible to the principal, so they are deleted as SYSTEM.
        """
        with transaction.atomic():
            rows = self.order_by("pk").select_for_update()
            keys = list(rows.values_list("pk", flat=True))
            found = self.model._default_manager.filter(pk__in=keys)
            check_writable(found)
            with acting_as(SYSTEM):
                return models.QuerySet.delete(found.only("pk", "collection", "source_uri"))

    delete.queryset_only = True  # type: ignore[attr-defined]

    def stored(self) -> Self:
        """Keep documents with a stored version."""
        return self.exclude(content_sha256="")

    def lacking_vectors(self, model: str) -> Self:
        """Keep documents with a chunk that has no vector of the model."""
        bare = _rows_of("Chunk").filter(document=OuterRef("pk")).lacking_vectors(model)
        return self.filter(Exists(bare))

    def of_file(self, *hashes: str, collection_id: int) -> Self:
        """Keep documents whose version was read from a file with one of these hashes."""
        # A failed document stores the hash of the failed bytes beside its old version.
        rows = self.stored().exclude(status="failed")
        return rows.filter(collection_id=collection_id, file_hash__in=hashes)

    def below(self, folder_uri: str) -> Self:
        """Keep documents of files below the folder."""
        return self.filter(source_uri__startswith=f"{folder_uri.rstrip('/')}/")

    def slice_of_text(self, start: int, end: int) -> str:
        """Return characters ``start:end`` of a single document's text, without reading the rest."""
        part = Substr("raw_text", start + 1, end - start)
        return str(self.values_list(part, flat=True).get())

    def mentioning(self, text: str) -> Self:
        """Keep documents that contain ``text`` in title or URI, or its words in their text.

        Title and URI are searched for the characters, ignoring case. The text is searched by the
        word index for the stemmed words in a row; the last may be a prefix.
        """
        rows = _rows_of("Collection").order_by()
        languages = list(rows.values_list("language", flat=True).distinct())
        if not languages:  # the principal sees no collection
            return self.none()
        in_a_row = phrase_condition(text, languages, OpenPhrase)
        in_text = _rows_of("Chunk").filter(in_a_row).values("document_id")
        in_uri = matching("source_uri", "icontains", text)
        return self.filter(Q(title__icontains=text) | in_uri | Q(pk__in=in_text))


class ChunkQuerySet(TaggableQuerySet["Chunk"]):
    tag_link = ("ChunkTag", "chunk", "pk")
    to_document = "document__"

    def shown(self) -> Self:
        """Prefetch the data of a list of chunks."""
        return self.defer("lexemes").select_related("collection__owner").prefetch_related("tags")

    def lacking_vectors(self, model: str) -> Self:
        """Keep chunks without a vector of the model."""
        embeddings = _rows_of("Embedding").filter(chunk=OuterRef("pk"), model=model)
        return self.filter(~Exists(embeddings))

    def overlapping(self, start: int, end: int) -> Self:
        """Keep chunks that overlap ``start:end`` of their document, in order."""
        return self.filter(start_char__lt=end, end_char__gt=start).order_by("ordinal")

    def remove(self) -> None:
        """Lock and delete the chunks; the lock keeps new citations away."""
        locked = self.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True)
        self.model._default_manager.filter(pk__in=list(locked)).delete()

    def with_document(self) -> Self:
        """Select the document without its long columns."""
        rows = self.select_related("document")
        return rows.defer("document__raw_text", "document__outline", "lexemes")

    def with_distances(
        self, vectors: NDArray[np.float32], question: NDArray[np.float32], *, model: str
    ) -> Self:
        """Annotate exact cosine distances: ``distance`` to the nearest of ``vectors``, (m, d).

        Also ``question_distance`` to one vector. Both are None for a chunk without a vector.
        """
        of_model = FilteredRelation("embeddings", condition=Q(embeddings__model=model))
        return self.annotate(
            of_model=of_model,
            distance=_least_distance("of_model__vector", vectors),
            question_distance=_distance("of_model__vector", question),
        )

    def matching(
        self, query: LexicalQuery, *, widely: bool = False, most: int | None = None
    ) -> ChunkQuerySet:
        """Keep chunks that contain one of the query's rare words, best first.

        Annotate ``bm25``, the BM25 score over all words of the query, above 0.

        Args:
            widely: Match any word of the query, also frequent ones.
            most: Maximum number of chunks to score; by default ``SCORED_CHUNKS`` if the words are
                frequent.
        """
        words = query.every_word if widely else query.candidates
        found: ChunkQuerySet = self.matching_tsquery(words)
        if most is None and (widely or query.is_narrowed):
            most = SCORED_CHUNKS
        if most is not None:
            some = ArraySubquery(found.order_by().values("pk")[:most])
            found = self.model._default_manager.filter(IsAnyOf(F("pk"), some))
        return found.ranked(query)

    def matching_tsquery(self, words: str) -> Self:
        """Keep chunks that match a raw tsquery."""
        return self.filter(lexemes=SearchQuery(words, search_type="raw", config="simple"))

    def ranked(self, query: LexicalQuery) -> Self:
        """Order by ``bm25``, best first; chunks without the words come last."""
        return self.with_bm25(query).order_by(F("bm25").desc(nulls_last=True), "pk")

    def with_bm25(self, query: LexicalQuery) -> Self:
        """Annotate ``bm25``, the score over the query's words and phrases; None without matches."""
        score: models.expressions.Combinable = Bm25Score(query)
        for phrase in query.phrases:
            exact = SearchQuery(phrase, search_type="phrase", config=query.language)
            score += Case(When(lexemes=exact, then=Value(query.phrase_bonus)), default=Value(0.0))
        return self.annotate(bm25=score)


class EmbeddingQuerySet(TaggableQuerySet["Embedding"]):
    tag_link = ("ChunkTag", "chunk", "chunk_id")
    to_document = "chunk__document__"

    def find_nearest(
        self,
        vectors: NDArray[np.float32],
        *,
        model: str,
        count: int,
        among: float,
    ) -> list[tuple[UUID, float]]:
        """Return up to ``count`` chunks with their cosine distances, nearest first.

        The distance of a chunk is that to the nearest of the vectors, shape (m, d).

        The model's index contains the vectors of every collection and ignores filters. If few rows
        match, or the index finds too few of them, they are compared exactly.

        Args:
            among: Approximate number of matching rows.
        """
        left = self.filter(model=model)
        # For few rows, the size of the index does not matter.
        if among > EXACT_SCAN_ROWS and among > exact_scan_limit(indexed := count_indexed(model)):
            with scaled_ef_search(indexed):
                found = [left.search_index(each, model=model, count=count) for each in vectors]
            if all(len(rows) >= count for rows in found):
                nearest = _least(found)
                return sorted(nearest.items(), key=lambda row: row[1])[:count]
        return list(left.with_exact_distance(vectors, model=model)[:count])

    def search_index(
        self, vector: NDArray[np.float32], *, model: str, count: int
    ) -> list[tuple[UUID, float]]:
        """Return more than ``count`` chunks from the model's index, if it finds so many."""
        rows = self.nearest(vector, model=model).values_list("chunk_id", "distance")  # type: ignore[misc]
        return list(rows[: INDEX_OVERSAMPLING * count])

    def with_exact_distance(
        self, vectors: NDArray[np.float32], *, model: str
    ) -> models.QuerySet[Embedding, tuple[UUID, float]]:
        """Return chunks and their exact cosine distances, nearest first, without the index.

        Each stored vector is read once for all of ``vectors``, shape (m, d).
        """
        rows = self.filter(model=model).annotate(distance=_least_distance("vector", vectors))
        return rows.order_by("distance").values_list("chunk_id", "distance")

    def nearest(self, vector: NDArray[np.float32], *, model: str) -> Self:
        """Order the model's vectors by cosine ``distance``, in [0, 2], smallest first.

        The expression is that of the model's index, which has a fixed dimension.
        """
        stored = Cast("vector", HalfVectorField(dimensions=len(vector)))
        rows = self.filter(model=model).annotate(distance=_distance(stored, vector))
        return rows.order_by("distance")

    def of_inputs(self, hashes: Sequence[str], *, model: str) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of these inputs, by input hash.

        Each is float32, shape (d,), in half precision.
        """
        if not fetch_prepared(_IS_KNOWN, [model, list(hashes)]):
            return {}
        rows = self.filter(model=model, input_sha256__in=hashes).order_by("input_sha256")
        found = rows.distinct("input_sha256").values_list("input_sha256", "vector")
        return {digest: np.array(vector, np.float32) for digest, vector in found}


class TokenVectorsQuerySet(models.QuerySet["TokenVectors"]):
    def of_chunks(self, chunk_ids: Iterable[UUID], *, model: str) -> dict[UUID, tuple[str, bytes]]:
        """Return the hash of the encoded text and the packed vectors, by chunk."""
        rows = self.filter(chunk_id__in=list(chunk_ids), model=model)
        found = rows.values_list("chunk_id", "input_sha256", "packed")
        return {chunk_id: (digest, bytes(packed)) for chunk_id, digest, packed in found}

    def of_inputs(self, hashes: Iterable[str], *, model: str) -> dict[str, bytes]:
        """Return the packed vectors of texts by their hash, from any chunk."""
        rows = self.filter(model=model, input_sha256__in=list(hashes))
        return {
            digest: bytes(packed) for digest, packed in rows.values_list("input_sha256", "packed")
        }


def _distance(stored: str | Cast, vector: NDArray[np.float32]) -> CosineDistance:
    """Compare in half precision, as stored; this changes a distance by less than 0.001."""
    # pgvector's own serialization, as doubles, takes 30 times as long.
    text = orjson.dumps(vector.astype(np.float16), option=orjson.OPT_SERIALIZE_NUMPY)
    return CosineDistance(stored, Value(text.decode()))


def _least_distance(column: str, vectors: NDArray[np.float32]) -> Func:
    distances = [_distance(column, vector) for vector in vectors]
    return Least(*distances) if len(distances) > 1 else distances[0]


def _least(lists: Iterable[Iterable[tuple[UUID, float]]]) -> dict[UUID, float]:
    least: dict[UUID, float] = {}
    for chunk_id, distance in chain.from_iterable(lists):
        least[chunk_id] = min(distance, least.get(chunk_id, distance))
    return least


def _rows_of(model: str) -> Any:
    """Return all rows of a model, which cannot be imported here: it imports this module."""
    return apps.get_model("corpus", model)._default_manager.all()


_LOOKUPS = {"eq": "exact", "gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte", "in": "in"}
_PATH_OPERATORS = {"eq": "==", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "=="}
_NEGATIONS = {"ne": "eq", "nin": "in"}


def _condition(wanted: Filter, prefix: str) -> Q:
    if isinstance(wanted, Compound):
        parts = [_condition(part, prefix) for part in wanted.parts]
        return reduce(and_ if wanted.op == "and" else or_, parts)
    op = _NEGATIONS.get(wanted.op, wanted.op)
    if wanted.field is None:
        condition = Q(_metadata_matches(wanted, op, f"{prefix}metadata"))
    else:
        condition = matching(wanted.field, _LOOKUPS[op], wanted.value, of=prefix)
    return ~condition if wanted.op in _NEGATIONS else condition


def _metadata_matches(wanted: Comparison, op: str, column: str) -> Func:
    """Compare by a JSON path: values of other types do not match, and raise no error.

    The operator ``@?`` can use the index of the column for equality. It accepts no variables, so
    values are written into the path as JSON.
    """
    values = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    tests = (f"@ {_PATH_OPERATORS[op]} {json.dumps(value)}" for value in values)
    path = f"$.{json.dumps(wanted.key)} ? ({' || '.join(tests)})"
    return Func(
        F(column),
        Value(path),
        template="(%(expressions)s::jsonpath)",
        arg_joiner=" @? ",
        output_field=models.BooleanField(),
    )
