"""Questions to a collection: the owner's own, and those that are made to measure it."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from corpus.models import Collection, Document


class Question(models.Model):
    """A question to a collection, with the passage that answers it.

    Without a document it is one that the collection does not answer.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    class Origin(models.TextChoices):
        GENERATED = "generated"
        FEEDBACK = "feedback"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        Collection, models.CASCADE, related_name="questions", db_index=False
    )
    document = models.ForeignKey(
        Document, models.CASCADE, related_name="questions", null=True, blank=True
    )
    text = models.CharField(max_length=2_000)
    answers = models.JSONField(default=list, blank=True, help_text="texts, any of them is right")
    quote = models.TextField(blank=True, help_text="of the document, verbatim")
    start_char = models.PositiveIntegerField(default=0)
    end_char = models.PositiveIntegerField(default=0)
    content_sha256 = models.CharField(
        max_length=64, blank=True, help_text="of the version that the span is of"
    )
    state = models.CharField(max_length=20, choices=State.choices, default=State.PROPOSED)
    origin = models.CharField(max_length=20, choices=Origin.choices)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    decided_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.UniqueConstraint("collection", "text", name="question_once_in_collection"),
            models.CheckConstraint(
                condition=models.Q(document=None) | models.Q(end_char__gt=models.F("start_char")),
                name="question_of_document_has_span",
            ),
            models.CheckConstraint(condition=~models.Q(text=""), name="question_text_is_not_empty"),
        ]

    def __str__(self) -> str:
        return self.text[:80]

    @property
    def is_answerable(self) -> bool:
        return self.document_id is not None


class CollectionBenchmark(models.Model):
    """The last test of a collection with questions made from its documents.

    Whoever may read the collection may read it. It is deleted with any document that it quotes.

    Attributes:
        questions: As ``evaluation.collection_benchmark.Trial``.
        documents: Ids of all documents whose words stand in the questions.
    """

    collection = models.OneToOneField(Collection, models.CASCADE, related_name="benchmark")
    questions: models.JSONField[Any, Any] = models.JSONField(default=list)
    documents = ArrayField(models.UUIDField(), default=list)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"benchmark of {self.collection_id}"
