"""What a stored answer shows."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from corpus.fields import Text
from qa.models import Answer, Citation, Feedback

MAX_COMMENT_CHARS = 5_000


class StoredCitation(serializers.ModelSerializer[Citation]):
    """A citation as it was given, and whether its quote still stands where it says."""

    selected = serializers.BooleanField(source="is_selected")
    heading_path = serializers.ListField(child=serializers.CharField())
    preview = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()

    class Meta:
        model = Citation
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


class StoredAnswerShown(serializers.ModelSerializer[Answer]):
    answer = serializers.CharField(source="text")
    abstained = serializers.BooleanField()
    citations = StoredCitation(many=True)
    debug = serializers.SerializerMethodField()

    class Meta:
        model = Answer
        fields = [
            "id", "question", "answer", "abstained", "confidence", "citations", "created_at",
            "debug",
        ]  # fmt: skip

    def get_debug(self, answer: Answer) -> dict[str, Any]:
        return {"steps": answer.steps if settings.IS_DEV else []}


class FeedbackInput(serializers.Serializer[Any]):
    rating = serializers.ChoiceField(Feedback.Rating.choices)
    comment = Text(max_length=MAX_COMMENT_CHARS, default="", allow_blank=True)


class FeedbackShown(serializers.ModelSerializer[Feedback]):
    class Meta:
        model = Feedback
        fields = ["id", "answer_id", "rating", "comment", "created_at"]
