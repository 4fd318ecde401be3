"""Documents, and their lists by tags, filters and sort order."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar, Self
from uuid import UUID

from django.apps import apps
from django.contrib.postgres.indexes import GinIndex
from django.db import models, transaction
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Lower, Substr
from django.utils import timezone

from corpus.access.principal import SYSTEM, acting_as
from corpus.characters import is_storable
from corpus.errors import InvalidInput
from corpus.filters import Comparison, Compound, Filter
from corpus.lexical import OpenPhrase, phrase_condition
from corpus.loaders.metadata import MAX_FILE_WORDS_CHARS
from corpus.models.base import LockableQuerySet, Row_co, check_writable
from corpus.models.collection import Collection
from corpus.models.tag import Tag
from corpus.roots.shown_paths import matching
from corpus.times import EARLIEST, LATEST, is_storable_time

# Each has an index together with the id.
SORTS: Mapping[str, Combinable] = {
    "name": Lower("title"),
    "type": F("media_type"),
    "size": F("size_bytes"),
    "pages": F("page_count"),
    "added": F("created_at"),
    "state": F("status"),
}
# Larger lists are only shown to have more.
COUNT_LIMIT = 1_000
_LOOKUPS = {"eq": "exact", "gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte", "in": "in"}
_PATH_OPERATORS = {"eq": "==", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "=="}
_NEGATIONS = {"ne": "eq", "nin": "in"}


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start or end of a page: the sort value and the id of a document."""

    value: str | int | datetime
    document_id: UUID

    def encode(self) -> str:
        value = self.value.isoformat() if isinstance(self.value, datetime) else self.value
        return base64.urlsafe_b64encode(
            json.dumps([value, str(self.document_id)]).encode()
        ).decode()

    @classmethod
    def decode(cls, cursor: str, *, sort: str) -> Self:
        """Decode a cursor that ``encode`` wrote.

        Raises:
            InvalidInput: It is not a cursor of a list in this order.
        """
        invalid = InvalidInput("Invalid cursor: it does not belong to this list.", field="cursor")
        try:
            value, document_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
            if sort == "added":
                value = datetime.fromisoformat(value)
                is_valid = value.utcoffset() is not None and is_storable_time(value)
            elif sort in {"size", "pages"}:
                is_valid = type(value) is int and 0 <= value < 2**31
            else:
                is_valid = type(value) is str and is_storable(value)
            decoded = cls(value, UUID(document_id))
        except (ValueError, TypeError, AttributeError, RecursionError) as exc:
            raise invalid from exc
        if not is_valid:
            raise invalid
        return decoded


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of a list; ``previous`` and ``next`` are cursors, or empty."""

    documents: list[Document]
    previous: str = ""
    next: str = ""


class TaggableQuerySet(LockableQuerySet[Row_co]):
    """Rows that carry tags and belong to a document.

    Attributes:
        to_document: The lookup prefix from a row to its document's fields.
        tag_links: The model that links rows and tags, its field for the row, and the row's key.
    """

    to_document: ClassVar[str]
    tag_links: ClassVar[tuple[str, str, str]]

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
        known = list(Tag.objects.filter(name__in=wanted).values_list("pk", flat=True))
        model, field, key = self.tag_links
        links = apps.get_model("corpus", model)._default_manager
        return self.filter(Exists(links.filter(**{field: OuterRef(key)}, tag__in=known)))


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


def delete_documents(collector: Any, field: Any, documents: Any, using: str) -> None:
    """Delete the documents of a collection; read only the columns that this needs."""
    models.CASCADE(collector, field, documents.only("pk", "collection"), using)


delete_documents.lazy_sub_objs = True  # type: ignore[attr-defined]


class DocumentQuerySet(TaggableQuerySet["Document"]):
    to_document = ""
    tag_links = ("Document_tags", "document", "pk")

    def listed(self) -> Self:
        """Prefetch the data of a list of documents."""
        return self.select_related("collection__owner").prefetch_related("tags")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete documents that the principal may change, with dependent rows of other users.

        Dependent rows of other users are invisible to the principal, so they are deleted as SYSTEM.
        """
        with transaction.atomic():
            rows = self.order_by("pk").select_for_update()
            keys = list(rows.values_list("pk", flat=True))
            documents = self.model._default_manager.filter(pk__in=keys)
            check_writable(documents)
            with acting_as(SYSTEM):
                return models.QuerySet.delete(documents.only("pk", "collection", "source_uri"))

    delete.queryset_only = True  # type: ignore[attr-defined]

    def stored(self) -> Self:
        """Keep documents with a stored version."""
        return self.exclude(content_sha256="")

    def lacking_vectors(self, model: str) -> Self:
        """Keep documents with a chunk that has no vector of the model."""
        bare = _chunks().filter(document=OuterRef("pk")).lacking_vectors(model)
        return self.filter(Exists(bare))

    def of_file(self, *hashes: str, collection_id: int) -> Self:
        """Keep documents whose version was read from a file with one of these hashes."""
        # A failed document stores the hash of the failed bytes beside its old version.
        rows = self.stored().exclude(status="failed")
        return rows.filter(collection_id=collection_id, file_hash__in=hashes)

    def below(self, folder_uri: str) -> Self:
        """Keep documents of files below the folder."""
        return self.filter(source_uri__startswith=f"{folder_uri.rstrip('/')}/")

    def with_text(self) -> Self:
        """Annotate ``text``, which is empty without a stored version."""
        return self.annotate(text=Coalesce("content__text", Value("", models.TextField())))

    def with_outline(self) -> Self:
        """Select ``content`` without its text."""
        return self.select_related("content").defer("content__text")

    def slice_of_text(self, start: int, end: int) -> str:
        """Return characters ``start:end`` of a single document's text, without reading the rest."""
        part = Substr("text", start + 1, end - start)
        return str(self.with_text().values_list(part, flat=True).get())

    def mentioning(self, text: str) -> Self:
        """Keep documents that contain ``text`` in title or URI, or its words in their text.

        Title and URI are searched for the characters, ignoring case. The text is searched by the
        word index for the stemmed words in a row; the last may be a prefix.
        """
        rows = Collection.objects.order_by()
        languages = list(rows.values_list("language", flat=True).distinct())
        if not languages:  # the principal sees no collection
            return self.none()
        in_a_row = phrase_condition(text, languages, OpenPhrase)
        in_text = _chunks().filter(in_a_row).values("document_id")
        in_uri = matching("source_uri", "icontains", text)
        return self.filter(Q(title__icontains=text) | in_uri | Q(pk__in=in_text))

    def page(
        self, *, sort: str, descending: bool, size: int, after: str = "", before: str = ""
    ) -> DocumentPage:
        """Return the documents after or before a cursor.

        Args:
            sort: One of ``SORTS``.
            after, before: Cursors of this list; ``after`` wins if both are given.

        Raises:
            InvalidInput: A cursor is of another list.
        """
        backwards = bool(before and not after)
        cursor = after or before
        rows = self.annotate(sorted_by=SORTS[sort])
        upwards = descending == backwards
        if cursor:
            # ``(column, id) > (value, id)`` as one condition, which the index answers.
            limit = Cursor.decode(cursor, sort=sort)
            pair = "(%(expressions)s)"
            here = Func(SORTS[sort], F("pk"), template=pair)
            there = Func(Value(limit.value), Value(limit.document_id), template=pair)
            sign, output = " > " if upwards else " < ", BooleanField()
            rows = rows.filter(
                Func(here, there, template=pair, arg_joiner=sign, output_field=output)
            )
        order = ("sorted_by", "pk") if upwards else ("-sorted_by", "-pk")
        documents: list[Any] = list(rows.order_by(*order)[: size + 1])
        has_more = len(documents) > size
        documents = documents[:size]
        if backwards:
            documents.reverse()
        has_next, has_previous = (bool(cursor), has_more) if backwards else (has_more, bool(cursor))

        def cursor_at(position: int) -> str:
            return Cursor(documents[position].sorted_by, documents[position].pk).encode()

        return DocumentPage(
            documents,
            cursor_at(0) if has_previous and documents else "",
            cursor_at(-1) if has_next and documents else "",
        )


def _chunks() -> Any:
    """Return the query set of all chunks, whose module imports this one."""
    relation: Any = Document._meta.get_field("chunks")
    return relation.related_model.objects.all()


class Document(models.Model):
    """An ingested document; ``content`` is its text, of which its chunks are slices."""

    class Status(models.TextChoices):
        PENDING = "pending"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(Collection, delete_documents, related_name="documents")
    source_uri = models.CharField(max_length=2048, blank=True, default="")
    source = models.CharField(max_length=100, blank=True, default="", help_text="web, cli, ...")
    title = models.CharField(max_length=512, blank=True, default="")
    file_words = models.CharField(
        max_length=MAX_FILE_WORDS_CHARS,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="words of its file's name that its title lacks",
    )
    media_type = models.CharField(max_length=150, default="text/plain")
    content_sha256 = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="of the text in UTF-8, hex; empty while no version is stored",
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

    # Annotated by ``with_text``.
    text: str
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


class DocumentContent(models.Model):
    """The text of a document's stored version, in a row that lists and jobs need not read."""

    document = models.OneToOneField(
        Document, models.CASCADE, primary_key=True, related_name="content"
    )
    text = models.TextField(help_text="normalized; what all offsets refer to")
    outline = models.JSONField(help_text="spans of headings and pages")

    def __str__(self) -> str:
        return f"Text of {self.document_id}"


class DroppedFile(models.Model):
    """An uploaded file whose document another host has deleted, in the same transaction.

    Attributes:
        folder: The random name of its folder below the uploads.
    """

    folder = models.CharField(max_length=32, primary_key=True)

    def __str__(self) -> str:
        return self.folder
