"""What several doors show: answers and their citations, given and stored.

What one family of endpoints alone takes and shows stands beside its views.
"""

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework import serializers

from corpus.models import PREVIEW_CHARS
from qa import models
from qa.answer_question import AnsweredQuestion
from qa.types import Citation


class StoredCitation(serializers.ModelSerializer[models.Citation]):
    """A citation as it was given, and whether its quote still stands where it says."""

    selected = serializers.BooleanField(source="is_selected")
    heading_path = serializers.ListField(child=serializers.CharField())
    preview = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()

    class Meta:
        model = models.Citation
        fields = [
            "chunk_id", "document_id", "selected", "content_sha256", "title", "source_uri",
            "heading_path", "page", "preview", "score", "quote", "start_char", "end_char",
            "answer_start", "answer_end", "support", "state",
        ]  # fmt: skip

    def get_preview(self, citation: Any) -> str:
        return citation.preview or ""

    def get_state(self, citation: Any) -> str:
        is_current = citation.is_selected or (
            citation.quote and citation.standing == citation.quote
        )
        return "current" if is_current else "stale"


class StoredAnswerShown(serializers.ModelSerializer[models.Answer]):
    answer = serializers.CharField(source="text")
    abstained = serializers.BooleanField()
    citations = StoredCitation(many=True)
    debug = serializers.SerializerMethodField()

    class Meta:
        model = models.Answer
        fields = [
            "id", "question", "answer", "abstained", "confidence", "citations", "created_at",
            "debug",
        ]  # fmt: skip

    def get_debug(self, answer: models.Answer) -> dict[str, Any]:
        return {"steps": answer.steps if settings.IS_DEV else []}


class CitationShown(serializers.Serializer[Any]):
    chunk_id = serializers.SerializerMethodField()
    document_id = serializers.SerializerMethodField()
    selected = serializers.BooleanField(source="passage.is_selected")
    content_sha256 = serializers.CharField(source="passage.content_sha256")
    title = serializers.CharField(source="passage.title")
    source_uri = serializers.CharField(source="passage.source_uri")
    heading_path = serializers.ListField(
        child=serializers.CharField(), source="passage.heading_path"
    )
    page = serializers.IntegerField(source="passage.page", allow_null=True)
    preview = serializers.SerializerMethodField()
    score = serializers.FloatField()
    quote = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()
    answer_start = serializers.IntegerField()
    answer_end = serializers.IntegerField()
    support = serializers.ChoiceField(["supported", "partial"])

    def get_chunk_id(self, citation: Citation) -> UUID | None:
        return None if citation.passage.is_selected else UUID(citation.passage.chunk_id)

    def get_document_id(self, citation: Citation) -> UUID | None:
        return None if citation.passage.is_selected else UUID(citation.passage.document_id)

    def get_preview(self, citation: Citation) -> str:
        return citation.passage.text[:PREVIEW_CHARS]


class AnswerShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    question = serializers.CharField(source="answer.question")
    answer = serializers.CharField(source="answer.text", allow_blank=True)
    abstained = serializers.BooleanField(source="answer.abstained")
    confidence = serializers.FloatField(source="answer.confidence", min_value=0, max_value=1)
    citations = CitationShown(many=True, source="answer.citations")
    debug = serializers.SerializerMethodField()

    def get_debug(self, answered: AnsweredQuestion) -> dict[str, Any]:
        return {"steps": list(answered.steps) if settings.IS_DEV else []}
