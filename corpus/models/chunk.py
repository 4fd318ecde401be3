"""Chunks with their vectors, and all queries that search them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Self
from uuid import UUID

import numpy as np
import orjson
from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex, HashIndex
from django.contrib.postgres.search import (
    SearchConfig,
    SearchQuery,
    SearchVector,
    SearchVectorField,
)
from django.db import models
from django.db.models import (
    Case,
    Exists,
    F,
    FilteredRelation,
    Func,
    GeneratedField,
    OuterRef,
    Q,
    Value,
    When,
)
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Cast, Least, Left
from django.utils import timezone
from numpy.typing import NDArray
from pgvector.django import CosineDistance, HalfVectorField

from corpus.access.principal import SYSTEM, acting_as
from corpus.lexical import ENGLISH, LANGUAGES, SCORED_CHUNKS, Bm25Score, IsAnyOf, LexicalQuery
from corpus.models.collection import Collection
from corpus.models.document import Document, TaggableQuerySet
from corpus.models.tag import Tag
from corpus.postgres import fetch_prepared
from corpus.vector_index import count_indexed, scaled_ef_search

# About two lines of a list.
PREVIEW_CHARS = 160


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


def search_vector(*fields: str) -> CombinedExpression:
    """Return the lexemes of the fields in the row's ``language``, and of its ``ngrams``.

    A generated column takes constants only, so each configuration is a constant.
    """
    stemmers = [When(language=name, then=SearchConfig(name)) for name in LANGUAGES]
    config = Case(*stemmers, default=SearchConfig(ENGLISH))
    return SearchVector(*fields, config=config) + SearchVector("ngrams", config="simple")


class ChunkQuerySet(TaggableQuerySet["Chunk"]):
    to_document = "document__"
    tag_links = ("ChunkTag", "chunk", "pk")

    def shown(self) -> Self:
        """Prefetch the data of a list of chunks."""
        return self.defer("lexemes").select_related("collection__owner").prefetch_related("tags")

    def lacking_vectors(self, model: str) -> Self:
        """Keep chunks without a vector of the model."""
        return self.filter(~Exists(Embedding.objects.filter(chunk=OuterRef("pk"), model=model)))

    def overlapping(self, start: int, end: int) -> Self:
        """Keep chunks that overlap ``start:end`` of their document, in order."""
        return self.filter(start_char__lt=end, end_char__gt=start).order_by("ordinal")

    def remove(self) -> None:
        """Lock and delete the chunks; the lock keeps new citations away.

        This is done as SYSTEM, so that other users' answers are updated as well.
        """
        with acting_as(SYSTEM):
            rows = self.order_by("pk").select_for_update(of=("self",))
            keys = list(rows.values_list("pk", flat=True))
            self.model._default_manager.filter(pk__in=keys).delete()

    def with_document(self) -> Self:
        """Select the document, too."""
        return self.defer("lexemes").select_related("document")

    def with_distances(
        self, vectors: NDArray[np.float32], question: NDArray[np.float32], *, model: str
    ) -> Self:
        """Annotate exact cosine distances: ``distance`` to the nearest of ``vectors``, (m, d).

        Also ``question_distance`` to one vector. Both are None for a chunk without a vector.
        """
        of_model = FilteredRelation("embeddings", condition=Q(embeddings__model=model))
        return self.annotate(
            of_model=of_model,
            distance=_min_distance("of_model__vector", vectors),
            question_distance=_distance("of_model__vector", question),
        )

    def matching(
        self, query: LexicalQuery, *, widely: bool = False, max_count: int | None = None
    ) -> ChunkQuerySet:
        """Keep chunks that contain one of the query's rare words, best first.

        Annotate ``bm25``, the BM25 score over all words of the query, above 0.

        Args:
            widely: Match any word of the query, also frequent ones.
            max_count: Maximum number of chunks to score; by default ``SCORED_CHUNKS`` if the words
                are frequent.
        """
        words = query.every_word if widely else query.candidates
        chunks: ChunkQuerySet = self.matching_tsquery(words)
        if max_count is None and (widely or query.is_narrowed):
            max_count = SCORED_CHUNKS
        if max_count is not None:
            some = ArraySubquery(chunks.order_by().values("pk")[:max_count])
            chunks = self.model._default_manager.filter(IsAnyOf(F("pk"), some))
        return chunks.ranked(query)

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


class Chunk(models.Model):
    """The slice ``text[start_char:end_char]`` of a document's content; offsets in characters."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The unique constraint on document and ordinal is index enough.
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks", db_index=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField(help_text="0 for the first chunk")
    start_char = models.PositiveIntegerField()
    end_char = models.PositiveIntegerField()
    text = models.TextField()
    context = models.TextField(
        blank=True,
        default="",
        help_text="file words, title and headings; embedded and indexed with the text",
    )
    text_preview = GeneratedField(
        expression=Left("text", PREVIEW_CHARS),
        output_field=models.CharField(max_length=PREVIEW_CHARS),
        db_persist=True,
    )
    chunk_sha256 = models.CharField(max_length=64, help_text="of text in UTF-8, hex")
    token_count = models.PositiveIntegerField(help_text="by the embedder's own tokenizer")
    heading_path = ArrayField(models.TextField(), default=list, blank=True)
    heading_level = models.PositiveSmallIntegerField(null=True, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # A generated column reads only its own row, so the language is copied here.
    language = models.CharField(max_length=20, default=ENGLISH, help_text="its collection's")
    ngrams = models.TextField(
        blank=True, default="", help_text="of text in scripts without spaces, for the lexical leg"
    )
    lexemes = GeneratedField(
        expression=search_vector("context", "text"),
        output_field=SearchVectorField(),
        db_persist=True,
    )
    tags = models.ManyToManyField(Tag, through="ChunkTag", related_name="chunks")

    objects = ChunkQuerySet.as_manager()

    class Meta:
        # Not "document": that would sort by the documents' own order.
        ordering = ["document_id", "ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "ordinal"],
                name="chunk_ordinal_unique_in_document",
                # Within a transaction, unchanged chunks are renumbered one by one.
                deferrable=models.Deferrable.DEFERRED,
            ),
            models.CheckConstraint(
                condition=Q(end_char__gt=F("start_char")), name="chunk_span_is_not_empty"
            ),
        ]
        indexes = [
            GinIndex(fields=["lexemes"], name="chunk_lexemes"),
            BrinIndex(fields=["created_at"], name="chunk_created"),
        ]

    def __str__(self) -> str:
        name = self.context.replace(" > ", " › ") or f"{self.text_preview[:40].strip()} …"
        return f"{name} [{self.start_char}:{self.end_char}]"

    @property
    def heading_text(self) -> str:
        return self.heading_path[-1] if self.heading_path else ""


class ChunkTag(models.Model):
    """A tag of a chunk; each chunk has the tags of its document."""

    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="chunk_tags", db_index=False)
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="chunk_tags")

    class Meta:
        constraints = [models.UniqueConstraint("chunk", "tag", name="chunk_tag_unique")]

    def __str__(self) -> str:
        return f"{self.tag_id} on {self.chunk_id}"


class EmbeddingQuerySet(TaggableQuerySet["Embedding"]):
    to_document = "chunk__document__"
    tag_links = ("ChunkTag", "chunk", "chunk_id")

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
        of_model = self.filter(model=model)
        # For few rows, the size of the index does not matter.
        if among > EXACT_SCAN_ROWS and among > exact_scan_limit(indexed := count_indexed(model)):
            with scaled_ef_search(indexed):
                ranked = [of_model.nearest(each, model=model) for each in vectors]
                lists = [
                    list(rows.values_list("chunk_id", "distance")[: INDEX_OVERSAMPLING * count])  # type: ignore[misc]
                    for rows in ranked
                ]
            if all(len(rows) >= count for rows in lists):
                nearest: dict[UUID, float] = {}
                for chunk_id, distance in chain.from_iterable(lists):
                    nearest[chunk_id] = min(distance, nearest.get(chunk_id, distance))
                return sorted(nearest.items(), key=lambda row: row[1])[:count]
        return list(of_model.with_exact_distance(vectors, model=model)[:count])

    def with_exact_distance(
        self, vectors: NDArray[np.float32], *, model: str
    ) -> models.QuerySet[Embedding, tuple[UUID, float]]:
        """Return chunks and their exact cosine distances, nearest first, without the index.

        Each stored vector is read once for all of ``vectors``, shape (m, d).
        """
        rows = self.filter(model=model).annotate(distance=_min_distance("vector", vectors))
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
        vectors = rows.distinct("input_sha256").values_list("input_sha256", "vector")
        return {digest: np.array(vector, np.float32) for digest, vector in vectors}


def _distance(stored: str | Cast, vector: NDArray[np.float32]) -> CosineDistance:
    """Compare in half precision, as stored; this changes a distance by less than 0.001."""
    # pgvector's own serialization, as doubles, takes 30 times as long.
    text = orjson.dumps(vector.astype(np.float16), option=orjson.OPT_SERIALIZE_NUMPY)
    return CosineDistance(stored, Value(text.decode()))


def _min_distance(column: str, vectors: NDArray[np.float32]) -> Func:
    distances = [_distance(column, vector) for vector in vectors]
    return Least(*distances) if len(distances) > 1 else distances[0]


class Embedding(models.Model):
    """A chunk's vector by one model.

    The column has no fixed length, so that it holds vectors of several dimensions; each model has
    its own partial index (``corpus.vector_index``).
    """

    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="embeddings", db_index=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="embeddings")
    model = models.CharField(max_length=200)
    dimension = models.PositiveIntegerField()
    input_sha256 = models.CharField(max_length=64, help_text="of the text as it was embedded, hex")
    # Half precision, so that Postgres stores it in the row itself (docs/decisions/0004).
    vector = HalfVectorField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = EmbeddingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint("chunk", "model", name="embedding_once_per_model"),
            models.CheckConstraint(
                condition=Q(
                    dimension=models.Func(
                        F("vector"), function="vector_dims", output_field=models.IntegerField()
                    )
                ),
                name="embedding_dimension_is_true",
            ),
        ]
        # Finds texts that were embedded before.
        indexes = [models.Index("model", "input_sha256", name="embedding_input")]

    def __str__(self) -> str:
        return f"{self.chunk_id} by {self.model}"


class TokenVectorsQuerySet(models.QuerySet["TokenVectors"]):
    def of_chunks(self, chunk_ids: Iterable[UUID], *, model: str) -> dict[UUID, tuple[str, bytes]]:
        """Return the hash of the encoded text and the packed vectors, by chunk."""
        rows = self.filter(chunk_id__in=list(chunk_ids), model=model)
        values = rows.values_list("chunk_id", "input_sha256", "packed")
        return {chunk_id: (digest, bytes(packed)) for chunk_id, digest, packed in values}

    def of_inputs(self, hashes: Iterable[str], *, model: str) -> dict[str, bytes]:
        """Return the packed vectors of texts by their hash, from any chunk."""
        rows = self.filter(model=model, input_sha256__in=list(hashes))
        return {
            digest: bytes(packed) for digest, packed in rows.values_list("input_sha256", "packed")
        }


class TokenVectors(models.Model):
    """One vector for each token of a chunk's text with the document's title before it.

    A trigger deletes them when the title changes.

    Attributes:
        model: The model and packing (``TokenEmbedder.packed_name``).
        packed: Stored out of the row and uncompressed, since it does not compress.
    """

    chunk = models.ForeignKey(Chunk, models.CASCADE, related_name="token_vectors", db_index=False)
    model = models.CharField(max_length=200)
    input_sha256 = models.CharField(max_length=64, help_text="of the text as it was encoded, hex")
    token_count = models.PositiveIntegerField(help_text="special tokens counted")
    packed = models.BinaryField()

    objects = TokenVectorsQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint("chunk", "model", name="token_vectors_once_per_model"),
            models.CheckConstraint(
                condition=Q(token_count__gt=0), name="token_vectors_are_of_tokens"
            ),
        ]
        # Finds texts that were encoded before.
        indexes = [HashIndex(fields=["input_sha256"], name="token_vectors_input")]

    def __str__(self) -> str:
        return f"{self.token_count} tokens of {self.chunk_id} by {self.model}"
