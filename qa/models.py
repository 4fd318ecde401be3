"""What was asked and said: answers with their citations."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import models
from django.utils import timezone

from corpus.models import Chunk, Collection, Document
from qa.querysets import AnswerQuerySet


def _blank_the_quote(collector: Any, field: Any, sub_objs: Sequence[Any], using: str) -> None:
    """Keep the citation of a deleted document, but nothing of the document's text."""
    collector.add_field_update(field, None, sub_objs)
    collector.add_field_update(field.model._meta.get_field("quote"), "", sub_objs)


class Answer(models.Model):
    """An answer as it was given; an empty text is an abstention."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="answers")
    question = models.TextField()
    text = models.TextField(blank=True)
    confidence = models.FloatField()
    answerer = models.CharField(max_length=200)
    embedding_model = models.CharField(max_length=200)
    configuration_sha256 = models.CharField(max_length=64, help_text="of the settings in force")
    steps = models.JSONField(default=list, help_text="time, ids and scores of each node")
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    objects = AnswerQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1),
                name="answer_confidence_in_unit_interval",
            ),
        ]

    def __str__(self) -> str:
        return self.question[:80]

    @property
    def abstained(self) -> bool:
        return not self.text


class Citation(models.Model):
    """A verbatim span of a document version; checkable after the document has changed."""

    answer = models.ForeignKey(Answer, models.CASCADE, related_name="citations", db_index=False)
    ordinal = models.PositiveIntegerField()
    document = models.ForeignKey(
        Document, _blank_the_quote, related_name="citations", null=True, blank=True
    )
    chunk = models.ForeignKey(
        Chunk, models.SET_NULL, related_name="citations", null=True, blank=True
    )
    content_sha256 = models.CharField(max_length=64)
    title = models.CharField(max_length=512, blank=True)
    source_uri = models.CharField(max_length=2048, blank=True)
    heading_path = models.JSONField(default=list)
    page = models.PositiveIntegerField(null=True, blank=True)
    quote = models.TextField(blank=True)
    start_char = models.PositiveIntegerField()
    end_char = models.PositiveIntegerField()
    answer_start = models.PositiveIntegerField()
    answer_end = models.PositiveIntegerField()
    score = models.FloatField()
    support = models.CharField(max_length=20)

    class Meta:
        ordering = ["answer", "ordinal"]
        constraints = [
            models.UniqueConstraint("answer", "ordinal", name="citation_ordinal_unique"),
            models.CheckConstraint(
                condition=models.Q(end_char__gt=models.F("start_char")),
                name="citation_span_is_not_empty",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start_char}:{self.end_char}]"
