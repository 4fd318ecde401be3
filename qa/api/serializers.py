"""Serializers that several endpoints share: answers and citations.

Serializers of one family of endpoints are beside its views.
"""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from qa import models
from qa.answer_record import AnswerRecord, QuoteRecord


class ContextShown(serializers.Serializer[Any]):
    """The text around a quote: a span of the same document version."""

    text = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()


class QuoteShown(serializers.Serializer[Any]):
    """A span of a passage with its location."""

    chunk_id = serializers.UUIDField(allow_null=True)
    document_id = serializers.UUIDField(allow_null=True)
    content_sha256 = serializers.CharField()
    title = serializers.CharField()
    source_uri = serializers.CharField()
    heading_path = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(source="chunk_page", allow_null=True)
    score = serializers.FloatField()
    quote = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()
    ocr_confidence = serializers.FloatField(source="page_range.ocr_confidence", allow_null=True)
    document_date = serializers.CharField(allow_null=True)


class CitationShown(QuoteShown):
    selected = serializers.BooleanField(source="is_selected")
    preview = serializers.CharField()
    answer_start = serializers.IntegerField()
    answer_end = serializers.IntegerField()
    support = serializers.ChoiceField(["supported", "partial"])
    context = ContextShown(source="around")  # type: ignore[assignment]
    # Of the quote; a chunk has only the page where it begins.
    page = serializers.IntegerField(source="page_range.page", allow_null=True)
    last_page = serializers.IntegerField(source="page_range.last_page", allow_null=True)


class StoredCitation(CitationShown):
    """A stored citation, and whether its quote is still current."""

    context = ContextShown(source="around", allow_null=True)
    state = serializers.SerializerMethodField()

    def get_state(self, quote: QuoteRecord) -> str:
        return "current" if quote.standing in {"current", "selected"} else "stale"


class ClosestShown(QuoteShown):
    """A relevant passage that the answer does not cite, or one that disagrees with it."""

    passage = ContextShown(source="around")


class AnswerShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    question = serializers.CharField()
    kind = serializers.ChoiceField(models.Answer.Kind.choices)
    answer = serializers.CharField(source="text", allow_blank=True)
    short = serializers.CharField(allow_null=True)
    short_start = serializers.IntegerField(allow_null=True)
    short_end = serializers.IntegerField(allow_null=True)
    abstained = serializers.BooleanField()
    confidence = serializers.FloatField(min_value=0, max_value=1)
    answerer = serializers.CharField(allow_blank=True)
    fallback = serializers.CharField(allow_null=True)
    citations = CitationShown(many=True)
    closest = ClosestShown(many=True)
    disagreement = serializers.SerializerMethodField()
    notice = serializers.CharField(allow_null=True)
    unanswered = serializers.ListField(child=serializers.CharField())
    debug = serializers.SerializerMethodField()

    @extend_schema_field(ClosestShown(many=True, allow_null=True))
    def get_disagreement(self, answer: AnswerRecord) -> Any:
        return ClosestShown(answer.disagreement, many=True).data or None

    def get_debug(self, answer: AnswerRecord) -> dict[str, Any]:
        return {"steps": answer.steps, "draft": answer.draft} if settings.IS_DEV else {"steps": []}


class StoredAnswerShown(AnswerShown):
    citations = StoredCitation(many=True)
    created_at = serializers.DateTimeField()
