"""What the doors take and show: questions, searches, answers, citations, feedback."""

from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from corpus.fields import CollectionName, Number, TagList, Text, Truth, Whole
from corpus.filters import Filter, FilterError, parse_filter
from corpus.models import DEFAULT_COLLECTION, PREVIEW_CHARS
from qa import models
from qa.answer_question import AnsweredQuestion
from qa.models import Feedback
from qa.types import Citation

MAX_COMMENT_CHARS = 5_000


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


class FeedbackInput(serializers.Serializer[Any]):
    rating = serializers.ChoiceField(Feedback.Rating.choices)
    comment = Text(max_length=MAX_COMMENT_CHARS, default="", allow_blank=True)


class FeedbackShown(serializers.ModelSerializer[Feedback]):
    class Meta:
        model = Feedback
        fields = ["id", "answer_id", "rating", "comment", "created_at"]


MAX_K = 50


class AnswerQuery(serializers.Serializer[Any]):
    q = Text(max_length=2_000)
    k = serializers.IntegerField(min_value=1, required=False, help_text="capped at 50")
    collection = CollectionName(default=DEFAULT_COLLECTION)
    tag = TagList(default=list)
    eval = serializers.BooleanField(default=False)
    gold = serializers.ListField(child=Text(max_length=200), default=list, max_length=1_000)
    lm = Text(max_length=200, default="", allow_blank=True)

    def validate_k(self, value: int) -> int:
        return min(value, MAX_K)


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


class Evaluation(serializers.Serializer[Any]):
    hit_rate_at_k = serializers.FloatField(allow_null=True)
    mean_score_top1 = serializers.FloatField(allow_null=True)
    mean_score_topk = serializers.FloatField(allow_null=True)


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


class EvaluatedAnswer(AnswerShown):
    evaluation = Evaluation(required=False)


@extend_schema_field({"$ref": "#/components/schemas/SearchFilter"})
class FilterField(serializers.Field[Any, Any, Any, Any]):
    """A filter, as ``corpus.filters`` describes it."""

    def to_internal_value(self, data: Any) -> Filter:
        try:
            return parse_filter(data)
        except FilterError as exc:
            found = {exc.path: [str(exc)]} if exc.path else [str(exc)]
            raise serializers.ValidationError(found) from exc


class SearchInput(serializers.Serializer[Any]):
    query = Text(max_length=1_000)
    mode = serializers.ChoiceField(["hybrid", "semantic", "lexical"], default="hybrid")
    top_k = Whole(min_value=1, max_value=50, default=5)
    similarity_threshold = Number(min_value=0, max_value=1, default=0.0)
    collection = CollectionName(default=DEFAULT_COLLECTION)
    tags = TagList(default=list)
    filters = FilterField(default=None, allow_null=True)
    rerank = Truth(required=False, help_text="by default what mode hybrid does, and no other")


class IndexQuery(serializers.Serializer[Any]):
    query = Text(max_length=1_000)
    index_name = CollectionName()
    top_k = Whole(min_value=1, max_value=100, default=5)


class IndexResult(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="chunk_id", help_text="of the chunk")
    content = serializers.CharField(source="text")
    source_document = serializers.CharField(source="source")
    score = serializers.FloatField()


class IndexFound(serializers.Serializer[Any]):
    results = IndexResult(many=True)
    query = serializers.CharField()
    index_name = serializers.CharField()


class SearchResult(serializers.Serializer[Any]):
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    document_name = serializers.CharField(source="name")
    content = serializers.CharField(source="text")
    score = serializers.FloatField()
    similarity_score = serializers.FloatField(source="similarity")
    metadata = serializers.DictField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()
    heading_path = serializers.ListField(child=serializers.CharField())


class SearchOutput(serializers.Serializer[Any]):
    query = serializers.CharField()
    results = SearchResult(many=True)
    total_results = serializers.IntegerField()
    embedding_time_ms = serializers.FloatField()
    search_time_ms = serializers.FloatField()
