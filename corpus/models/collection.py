"""Collections, with their counts, versions and maps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Self, cast
from uuid import UUID, uuid4

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import connection, models, transaction
from django.db.models import Case, F, Func, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from corpus.access.principal import current_principal, current_user_id
from corpus.characters import is_storable
from corpus.errors import CollectionNotFound, NotAllowed
from corpus.lexical import ENGLISH, LANGUAGES, TOTAL, IsAnyOf
from corpus.models.base import LockableQuerySet
from corpus.postgres import execute, fetch_prepared

NAME_PATTERN = r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}\Z"
# In requests: the name, followed by @ and the owner's name for another user's collection.
MAX_QUALIFIED_NAME_CHARS = 251
QUALIFIED_NAME_PATTERN = r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}(@[\w.@+-]{0,150})?\Z"
DEFAULT_COLLECTION = "default"
# In place of a name: all collections that the principal may read.
ALL_COLLECTIONS = "*"
# A promise of more wrong answers than right ones is none.
MAX_WRONG_PERCENT = 50

# Identifies the content of a collection as one reader sees it; a change gives a new version.
Version = frozenset[UUID]


class CollectionChangeQuerySet(models.QuerySet["CollectionChange"]):
    def versions_of(self, collection_ids: Iterable[int]) -> dict[int, Version]:
        """Return the version of each collection that has one."""
        rows = self.filter(collection_id__in=list(collection_ids))
        changes_of: defaultdict[int, set[UUID]] = defaultdict(set)
        for collection_id, change in rows.values_list("collection_id", "id"):
            changes_of[collection_id].add(change)
        return {collection_id: frozenset(changes) for collection_id, changes in changes_of.items()}


class CollectionChange(models.Model):
    """A transaction that changed the content of a collection; written by triggers.

    Each replaces earlier committed rows that no other transaction is replacing, so that there are
    few rows and writers do not wait. The rows that a reader sees are the collection's version.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # No foreign key: triggers append rows while a collection is being deleted.
    collection_id = models.BigIntegerField(db_index=True)

    objects = CollectionChangeQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.id} of {self.collection_id}"


# In place of a tag id: all stored documents, with or without tags.
ANY_TAG = 0

# The statement adds up only the rows that it deletes: rows that are appended meanwhile stay.
_SUM_UP = """
WITH appended AS (
  DELETE FROM corpus_documentcount c USING (
    SELECT collection_id, tag_id FROM corpus_documentcount
     GROUP BY collection_id, tag_id HAVING count(*) > 1) several
   WHERE c.collection_id = several.collection_id AND c.tag_id = several.tag_id
  RETURNING c.*
)
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(document_count), sum(chunk_count) FROM appended
 GROUP BY collection_id, tag_id HAVING sum(document_count) <> 0 OR sum(chunk_count) <> 0
"""
# Two concurrent runs would add up each other's rows, and a transaction that deletes a collection
# or a tag locks some rows until its commit.
_ONE_AT_A_TIME = "SELECT pg_try_advisory_xact_lock(0x706b625f6463)"
_WAIT = "SELECT pg_advisory_xact_lock(0x706b625f6463)"


class DocumentCountQuerySet(models.QuerySet["DocumentCount"]):
    def compact(self) -> int:
        """Replace the rows of each tag by their sum; rows that are appended meanwhile stay.

        Returns:
            The number of rows written; 0 while another transaction changes the counts.
        """
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_ONE_AT_A_TIME)
            if cursor.fetchone() == (False,):
                return 0
            cursor.execute(_SUM_UP)
            return int(cursor.rowcount)

    def lock(self) -> None:
        """Lock the counts against other compactions, deletions and repairs until the commit."""
        execute(_WAIT)


class DocumentCount(models.Model):
    """Counts of documents and chunks with a tag: the sum of its rows. Triggers write them.

    The rows of ``ANY_TAG`` count the documents of a collection that have a text, and no chunks.
    """

    # No foreign keys: triggers append rows while a collection is being deleted.
    collection_id = models.BigIntegerField()
    tag_id = models.BigIntegerField()
    document_count = models.BigIntegerField()
    chunk_count = models.BigIntegerField()

    objects = DocumentCountQuerySet.as_manager()

    class Meta:
        indexes = [models.Index("collection_id", "tag_id", name="document_count_lookup")]

    def __str__(self) -> str:
        return f"tag {self.tag_id} of {self.collection_id}: {self.document_count}"


class TermCount(models.Model):
    """Counts of chunks that contain a word: the sum of its rows. Triggers write them.

    The row of the empty lexeme counts all chunks, and their tokens.
    """

    # No foreign key: triggers append rows while a collection is being deleted.
    collection_id = models.BigIntegerField()
    lexeme = models.TextField()
    chunk_count = models.BigIntegerField()
    token_count = models.BigIntegerField()

    class Meta:
        indexes = [models.Index("collection_id", "lexeme", name="term_count_lookup")]

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunk_count}"


_LOCK_MODEL = "SELECT embedding_model FROM corpus_collection WHERE id = %s FOR KEY SHARE"


class CollectionQuerySet(LockableQuerySet["Collection"]):
    def find(self, name: str) -> Collection | None:
        """Return the collection of a qualified name; None if the principal sees none.

        A name without ``@`` means the principal's own collection, else one without an owner. It
        never means another user's, who could otherwise choose a name to receive foreign texts.
        ``handbook@ida`` is Ida's, ``handbook@`` has no owner.
        """
        bare_name, at, owner = name.partition("@")
        rows = self.filter(name=bare_name) if is_storable(name) else self.none()
        if owner:
            return rows.filter(owner__username=owner).first()
        own = Q(owner=None) if at else Q(owner=None) | Q(owner=current_user_id())
        return rows.filter(own).order_by(F("owner").asc(nulls_last=True)).first()

    def writable(self) -> Self:
        """Keep collections whose documents the principal may change."""
        return self.filter(_is_among("pkb_writable"))

    def owned(self) -> Self:
        """Keep collections that the principal may change, delete and share."""
        return self.filter(_is_among("pkb_owned"))

    def with_role(self) -> Self:
        """Annotate ``role``, the principal's ``Grant.Role``."""
        owner = When(_is_among("pkb_owned"), then=Value("owner"))
        writer = When(_is_among("pkb_writable"), then=Value("writer"))
        return self.annotate(role=Case(owner, writer, default=Value("reader")))

    def get_writable(self, name: str) -> Collection:
        """Return the collection that ``find`` finds, if the principal may change its documents.

        Raises:
            CollectionNotFound: The principal sees none.
            NotAllowed: The principal may only read it.
        """
        collection: Any = self.annotate(is_writable=_is_among("pkb_writable")).get_named(name)
        if not collection.is_writable:
            raise NotAllowed(f"You can read the collection {name!r}, but not change it.")
        return cast("Collection", collection)

    def get_named(self, name: str) -> Collection:
        """Return the collection that ``find`` finds.

        Raises:
            CollectionNotFound: The principal sees none.
        """
        collection = self.find(name)
        if collection is None:
            raise CollectionNotFound(f"There is no collection {name!r}.")
        return collection

    def get_asked(self, name: str) -> list[Collection]:
        """Return the collection of that name, or all that the principal sees for ``*``.

        Raises:
            CollectionNotFound: The principal sees none.
        """
        if name != ALL_COLLECTIONS:
            return [self.get_named(name)]
        collections = list(self.select_related("owner"))
        if not collections:
            raise CollectionNotFound("There is no collection that you may read.")
        return collections

    def names(self) -> dict[int | None, str]:
        """Return the qualified names by key."""
        return {each.pk: each.qualified_name for each in self.select_related("owner")}

    def lock_model(self, collection_id: int) -> str | None:
        """Lock the collection's embedding model until the transaction ends, and return its name."""
        rows = fetch_prepared(_LOCK_MODEL, [collection_id])
        return str(rows[0][0]) if rows else None

    def with_counts(self) -> Self:
        """Annotate ``document_count`` and ``chunk_count``."""
        # Triggers maintain both counts.
        documents = DocumentCount.objects.filter(tag_id=ANY_TAG)
        chunks = TermCount.objects.filter(lexeme=TOTAL)
        return self.annotate(
            document_count=sum_of("document_count", documents, key="collection_id"),
            chunk_count=sum_of("chunk_count", chunks, key="collection_id"),
        )


def sum_of(column: str, rows: models.QuerySet[Any], *, key: str) -> Coalesce:
    """Return the sum over the rows whose ``key`` is the outer row's; 0 if there are none.

    A subquery runs once for each row that is returned; a join would read all rows first.
    """
    own = rows.filter(**{key: OuterRef("pk")}).order_by().values(key)
    total = own.annotate(total=Sum(column)).values("total")
    return Coalesce(Subquery(total), 0, output_field=models.BigIntegerField())


def _is_among(function: str) -> Q:
    """Return the condition that the SQL function lists the row's collection."""
    if current_principal().sees_all:
        return Q(pk__isnull=False)
    return Q(IsAnyOf(F("pk"), Func(template=f"(SELECT {function}())::bigint[]")))


class Collection(models.Model):
    """A named set of documents that are searched together, with one embedding model."""

    class Distance(models.TextChoices):
        COSINE = "cosine"

    class Strategy(models.TextChoices):
        AUTO = "auto"
        SENTENCE = "sentence"
        STRUCTURE = "structure"
        RECURSIVE = "recursive"
        SEMANTIC = "semantic"

    class Unit(models.TextChoices):
        TOKENS = "tokens"
        CL100K_TOKENS = "cl100k_tokens"
        CHARACTERS = "characters"

    name = models.CharField(max_length=100, validators=[RegexValidator(NAME_PATTERN)])
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        default=current_user_id,
        related_name="+",
        help_text="without an owner, it belongs to the superusers",
    )
    is_public = models.BooleanField(default=False, help_text="every user may read it")
    description = models.TextField(blank=True, default="")
    embedding_model = models.CharField(max_length=200)
    dimension = models.PositiveIntegerField(help_text="length of a vector")
    # Both are empty, or both describe the model that a rollback restores.
    previous_model = models.CharField(
        max_length=200, blank=True, default="", help_text="its vectors are kept, to go back to"
    )
    previous_dimension = models.PositiveIntegerField(null=True, blank=True)
    distance = models.CharField(max_length=20, choices=Distance.choices, default=Distance.COSINE)
    chunk_strategy = models.CharField(
        max_length=20, choices=Strategy.choices, default=Strategy.AUTO
    )
    chunk_size = models.PositiveIntegerField(help_text="most units of a chunk")
    chunk_overlap = models.PositiveIntegerField(
        default=0, help_text="most units that neighbouring pieces of one passage share"
    )
    chunk_overlap_sentences = models.PositiveIntegerField(
        default=1, help_text="sentences that they share where chunk_overlap is 0"
    )
    chunk_unit = models.CharField(max_length=20, choices=Unit.choices, default=Unit.TOKENS)
    language = models.CharField(
        max_length=20, choices=[(name, name) for name in LANGUAGES], default=ENGLISH,
        help_text="by which words are stemmed for the lexical leg",
    )  # fmt: skip
    max_wrong_percent = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="maximum percentage of wrong answers"
    )
    learns_confidence = models.BooleanField(
        default=True, db_default=True, help_text="judged answers refit the confidence"
    )
    learned_confidence: models.JSONField[Any, Any] = models.JSONField(
        null=True, editable=False, help_text="a qa.learned_confidence.LearnedConfidence"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CollectionQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                "owner", "name", name="collection_name_once_an_owner", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=Q(name__regex=r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}$"),
                name="collection_name_is_well_formed",
            ),
            models.CheckConstraint(
                condition=Q(dimension__gt=0) & Q(chunk_size__gt=0),
                name="collection_sizes_are_positive",
            ),
            models.CheckConstraint(
                condition=Q(previous_model="", previous_dimension=None)
                | (~Q(previous_model="") & Q(previous_dimension__gt=0)),
                name="collection_previous_model_has_its_dimension",
            ),
            models.CheckConstraint(
                condition=Q(max_wrong_percent=None)
                | Q(max_wrong_percent__range=(1, MAX_WRONG_PERCENT)),
                name="collection_max_wrong_percent_is_a_promise",
            ),
            models.CheckConstraint(
                condition=Q(chunk_size__gte=F("chunk_overlap") * 2),
                name="collection_overlap_is_at_most_half",
            ),
        ]

    def __str__(self) -> str:
        return self.qualified_name

    @property
    def qualified_name(self) -> str:
        """Return the name; for another user's collection, with ``@`` and the owner's name."""
        principal = current_principal()
        if self.owner_id is None:
            is_own = principal.sees_all or principal.is_superuser
        else:
            is_own = self.owner_id == principal.user_id
        return self.name if is_own else f"{self.name}@{self.owner or ''}"
