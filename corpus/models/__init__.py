"""Models of collections, documents, chunks, vectors and tags."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.contrib.postgres.search import (
    SearchConfig,
    SearchVector,
    SearchVectorField,
)
from django.db import models
from django.db.models import Case, F, GeneratedField, Q, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Left, Lower
from django.utils import timezone
from pgvector.django import HalfVectorField

from corpus.lexical import ENGLISH, LANGUAGES
from corpus.models.collection import (
    DEFAULT_COLLECTION,
    MAX_QUALIFIED_NAME_CHARS,
    NAME_PATTERN,
    QUALIFIED_NAME_PATTERN,
    Collection,
    CollectionChange,
    Tag,
    Version,
)
from corpus.models.collection_map import CollectionMap
from corpus.models.document_counts import DocumentCount
from corpus.models.dropped_file import DroppedFile
from corpus.models.grant import CollectionAccess, Grant
from corpus.models.idempotent_request import IdempotentRequest
from corpus.models.installation import Installation
from corpus.models.job import Job, JobItem
from corpus.models.rule import Rule
from corpus.models.site import Site, SitePage
from corpus.models.term_counts import TermCount
from corpus.models.token_vector import TokenVectors
from corpus.models.tombstone import Tombstone
from corpus.models.watched_folder import WatchedFolder
from corpus.querysets import (
    ChunkQuerySet,
    DocumentQuerySet,
    EmbeddingQuerySet,
    delete_without_text,
)
from corpus.times import EARLIEST, LATEST

__all__ = [
    "DEFAULT_COLLECTION",
    "MAX_QUALIFIED_NAME_CHARS",
    "NAME_PATTERN",
    "QUALIFIED_NAME_PATTERN",
    "Chunk",
    "ChunkTag",
    "Collection",
    "CollectionAccess",
    "CollectionChange",
    "CollectionMap",
    "Document",
    "DocumentCount",
    "DroppedFile",
    "Embedding",
    "Grant",
    "IdempotentRequest",
    "Installation",
    "Job",
    "JobItem",
    "Rule",
    "Site",
    "SitePage",
    "Tag",
    "TermCount",
    "TokenVectors",
    "Tombstone",
    "Version",
    "WatchedFolder",
]  # fmt: skip

# About two lines of a list.
PREVIEW_CHARS = 160


def search_vector(*fields: str) -> CombinedExpression:
    """Return the lexemes of the fields in the row's ``language``, and of its ``ngrams``.

    A generated column takes constants only, so each configuration is a constant.
    """
    stemmers = [When(language=name, then=SearchConfig(name)) for name in LANGUAGES]
    config = Case(*stemmers, default=SearchConfig(ENGLISH))
    return SearchVector(*fields, config=config) + SearchVector("ngrams", config="simple")


class Document(models.Model):
    """An ingested document; its chunks are slices of ``raw_text``."""

    class Status(models.TextChoices):
        PENDING = "pending"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(Collection, delete_without_text, related_name="documents")
    source_uri = models.CharField(max_length=2048, blank=True, default="")
    source = models.CharField(max_length=100, blank=True, default="", help_text="web, cli, ...")
    title = models.CharField(max_length=512, blank=True, default="")
    media_type = models.CharField(max_length=150, default="text/plain")
    raw_text = models.TextField(
        blank=True, default="", help_text="normalized; what all offsets refer to"
    )
    outline = models.JSONField(default=dict, help_text="spans of headings and pages")
    content_sha256 = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="of raw_text in UTF-8, hex; empty while no version is stored",
    )
    metadata = models.JSONField(default=dict, blank=True)
    chapter = models.CharField(max_length=512, blank=True, default="")
    section = models.CharField(max_length=512, blank=True, default="")
    word_count = models.PositiveIntegerField(default=0)
    char_count = models.PositiveIntegerField(default=0)
    chunk_count = models.PositiveIntegerField(default=0)
    page_count = models.PositiveIntegerField(
        default=0, db_default=0, help_text="0 where there are no pages"
    )
    size_bytes = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="of the file; of a text that was sent, in UTF-8"
    )
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.PENDING)
    error = models.TextField(blank=True, default="")
    file_path = models.CharField(max_length=4096, blank=True, default="")
    file_hash = models.CharField(max_length=64, blank=True, default="")
    kept_file = models.CharField(
        max_length=255, blank=True, default="", db_default="", help_text="below the uploads"
    )
    settings_sha256 = models.CharField(
        max_length=64, blank=True, default="", help_text="of the settings it was taken in by"
    )
    last_modified = models.DateTimeField(null=True, blank=True)
    user_created_at = models.DateTimeField(null=True, blank=True)
    ingested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)
    tags = models.ManyToManyField(Tag, related_name="documents", blank=True)

    # Its lexemes, while it is being deleted.
    words_counted: Sequence[str] = ()

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                "collection",
                "content_sha256",
                condition=~Q(content_sha256=""),
                name="document_content_unique_in_collection",
            ),
            models.UniqueConstraint(
                "collection",
                "source_uri",
                condition=~Q(source_uri=""),
                name="document_source_uri_unique_in_collection",
            ),
            models.CheckConstraint(
                condition=Q(content_sha256__regex="^([0-9a-f]{64})?$"),
                name="document_content_sha256_is_hex",
            ),
            models.CheckConstraint(
                condition=~Q(status="completed") | ~Q(content_sha256=""),
                name="document_completed_has_content",
            ),
            # Postgres stores times out of this range, but Python cannot read them.
            models.CheckConstraint(
                condition=Q(user_created_at__range=(EARLIEST, LATEST))
                & Q(last_modified__range=(EARLIEST, LATEST)),
                name="document_times_can_be_read",
            ),
        ]
        indexes = [
            models.Index("collection", "created_at", "id", name="document_listing"),
            models.Index("created_at", "id", name="document_listing_of_all"),
            models.Index("ingested_at", condition=~Q(content_sha256=""), name="document_newest"),
            # Sort orders of lists.
            models.Index(Lower("title"), "id", name="document_by_title"),
            models.Index("media_type", "id", name="document_by_type"),
            models.Index("size_bytes", "id", name="document_by_size"),
            models.Index("page_count", "id", name="document_by_pages"),
            models.Index("status", "id", name="document_by_state"),
            models.Index("collection", "file_hash", name="document_file_hash"),
            GinIndex(fields=["metadata"], opclasses=["jsonb_path_ops"], name="document_metadata"),
        ]

    def __str__(self) -> str:
        return self.name

    def delete(self, using: Any = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        return type(self).objects.filter(pk=self.pk).delete()

    @property
    def name(self) -> str:
        """Return the title, else the last part of the URI, else the id."""
        return self.title or self.source_uri.rstrip("/").rsplit("/", 1)[-1] or str(self.pk)


class Chunk(models.Model):
    """The slice ``raw_text[start_char:end_char]`` of a document; offsets in characters."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The unique constraint on document and ordinal is index enough.
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks", db_index=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField(help_text="0 for the first chunk")
    start_char = models.PositiveIntegerField()
    end_char = models.PositiveIntegerField()
    text = models.TextField()
    context = models.TextField(
        blank=True, default="", help_text="title and headings; embedded and indexed with the text"
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
