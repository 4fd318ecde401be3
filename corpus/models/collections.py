"""Collections, and the tags of what is in them."""

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from corpus.access.principal import current_principal, current_user_id
from corpus.languages import ENGLISH, LANGUAGES
from corpus.models.collection_querysets import CollectionQuerySet, TagQuerySet

NAME_PATTERN = r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}\Z"
# What a request calls one: its name, or with its owner's where it is another user's.
MAX_ADDRESS_CHARS = 251
ADDRESS_PATTERN = r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}(@[\w.@+-]{0,150})?\Z"
DEFAULT_COLLECTION = "default"


class Collection(models.Model):
    """A named index: documents that are searched together, by one embedding model."""

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
        help_text="none: it is the superusers'",
    )
    is_public = models.BooleanField(default=False, help_text="every user may read it")
    description = models.TextField(blank=True, default="")
    embedding_model = models.CharField(max_length=200)
    dimension = models.PositiveIntegerField(help_text="length of a vector")
    # Both are empty, or both name what a rollback goes back to.
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
                condition=Q(chunk_size__gte=F("chunk_overlap") * 2),
                name="collection_overlap_is_at_most_half",
            ),
        ]

    def __str__(self) -> str:
        return self.address

    @property
    def address(self) -> str:
        """What it is called by who acts: with its owner's name where it is not theirs."""
        principal = current_principal()
        if self.owner_id is None:
            is_own = principal.sees_all or principal.is_superuser
        else:
            is_own = self.owner_id == principal.user_id
        return self.name if is_own else f"{self.name}@{self.owner or ''}"


class Tag(models.Model):
    """A label of a collection's documents, trimmed and in lower case."""

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
