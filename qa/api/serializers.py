"""Serializers that several endpoints share: answers and citations, new and stored.

Serializers of one family of endpoints are beside its views.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from corpus.models import PREVIEW_CHARS
from corpus.roots.shown_paths import shown_uri
from qa import models
from qa.answer_question import AnsweredQuestion
from qa.answer_store import draft_to_json
from qa.conversations import page_range_of_citation, read_passages
from qa.notices import notice_of
from qa.types import Citation, ClosePassage


class ContextShown(serializers.Serializer[Any]):
    """The text around a quote: a span of the same document version."""

    text = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()


class StoredCitation(serializers.ModelSerializer[models.Citation]):
    """A stored citation, and whether its quote is still current."""

    selected = serializers.BooleanField(source="is_selected")
    heading_path = serializers.ListField(child=serializers.CharField())
    source_uri = serializers.SerializerMethodField()
    preview = serializers.SerializerMethodField()
    context = serializers.SerializerMethodField()  # type: ignore[assignment]
    page = serializers.SerializerMethodField()
    last_page = serializers.SerializerMethodField()
    ocr_confidence = serializers.SerializerMethodField()
    document_date = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()

    class Meta:
        model = models.Citation
        fields = [
            "chunk_id", "document_id", "selected", "content_sha256", "title", "source_uri",
            "heading_path", "page", "last_page", "preview", "score", "quote", "start_char",
            "end_char", "answer_start", "answer_end", "support", "context", "ocr_confidence",
            "document_date", "state",
        ]  # fmt: skip

    @extend_schema_field(ContextShown(allow_null=True))
    def get_context(self, citation: Any) -> dict[str, Any] | None:
        if not citation.surroundings:
            return None
        return {
            "text": citation.surroundings,
            "start_char": citation.context_start,
            "end_char": citation.context_end,
        }

    def get_source_uri(self, citation: Any) -> str:
        return shown_uri(citation.source_uri, file_path=citation.file_path)

    def get_preview(self, citation: Any) -> str:
        return citation.preview or ""

    def get_page(self, citation: Any) -> int | None:
        return page_range_of_citation(citation).page

    def get_last_page(self, citation: Any) -> int | None:
        return page_range_of_citation(citation).last_page

    def get_ocr_confidence(self, citation: Any) -> float | None:
        return page_range_of_citation(citation).ocr_confidence

    def get_document_date(self, citation: Any) -> str | None:
        return citation.document_date or None

    def get_state(self, citation: Any) -> str:
        is_current = citation.is_selected or (
            citation.quote and citation.standing == citation.quote
        )
        return "current" if is_current else "stale"


class QuoteShown(serializers.Serializer[Any]):
    """A span of a passage with its location."""

    chunk_id = serializers.SerializerMethodField()
    document_id = serializers.SerializerMethodField()
    content_sha256 = serializers.CharField(source="passage.content_sha256")
    title = serializers.CharField(source="passage.title")
    source_uri = serializers.CharField(source="passage.source_uri")
    heading_path = serializers.ListField(
        child=serializers.CharField(), source="passage.heading_path"
    )
    page = serializers.IntegerField(source="passage.page", allow_null=True)
    score = serializers.FloatField()
    quote = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()
    ocr_confidence = serializers.FloatField(source="page_range.ocr_confidence", allow_null=True)
    document_date = serializers.SerializerMethodField()

    def get_document_date(self, quoted: Citation | ClosePassage) -> str | None:
        return quoted.passage.document_date or None

    def get_chunk_id(self, quoted: Citation | ClosePassage) -> UUID | None:
        return None if quoted.passage.is_selected else UUID(quoted.passage.chunk_id)

    def get_document_id(self, quoted: Citation | ClosePassage) -> UUID | None:
        return None if quoted.passage.is_selected else UUID(quoted.passage.document_id)


class CitationShown(QuoteShown):
    selected = serializers.BooleanField(source="passage.is_selected")
    preview = serializers.SerializerMethodField()
    answer_start = serializers.IntegerField()
    answer_end = serializers.IntegerField()
    support = serializers.ChoiceField(["supported", "partial"])
    context = serializers.SerializerMethodField()  # type: ignore[assignment]
    # Of the quote; a chunk has only the page where it begins.
    page = serializers.IntegerField(source="page_range.page", allow_null=True)
    last_page = serializers.IntegerField(source="page_range.last_page", allow_null=True)

    @extend_schema_field(ContextShown)
    def get_context(self, citation: Citation) -> dict[str, Any]:
        start, end = citation.context
        offset = citation.passage.start_char
        text = citation.passage.text[start - offset : end - offset]
        return {"text": text, "start_char": start, "end_char": end}

    def get_preview(self, citation: Citation) -> str:
        return citation.passage.text[:PREVIEW_CHARS]


class ClosestShown(QuoteShown):
    """A relevant passage that the answer does not cite, or one that disagrees with it."""

    passage = serializers.SerializerMethodField()

    @extend_schema_field(ContextShown)
    def get_passage(self, close: ClosePassage) -> dict[str, Any]:
        start = close.unit_start if close.unit_text else close.start_char
        text = close.shown_text
        return {"text": text, "start_char": start, "end_char": start + len(text)}


class StoredAnswerShown(serializers.ModelSerializer[models.Answer]):
    answer = serializers.CharField(source="text")
    abstained = serializers.BooleanField()
    short = serializers.CharField(allow_null=True)
    fallback = serializers.SerializerMethodField()
    citations = StoredCitation(many=True)
    closest = serializers.SerializerMethodField()
    disagreement = serializers.SerializerMethodField()
    notice = serializers.SerializerMethodField()
    debug = serializers.SerializerMethodField()

    class Meta:
        model = models.Answer
        fields = [
            "id", "question", "kind", "answer", "short", "short_start", "short_end", "abstained",
            "confidence", "answerer", "fallback", "citations", "closest", "disagreement", "notice",
            "unanswered", "created_at", "debug",
        ]  # fmt: skip

    @extend_schema_field(ClosestShown(many=True))
    def get_closest(self, answer: models.Answer) -> Any:
        return ClosestShown(self._read(answer.closest), many=True).data

    @extend_schema_field(ClosestShown(many=True, allow_null=True))
    def get_disagreement(self, answer: models.Answer) -> Any:
        return ClosestShown(self._read(answer.disagreement), many=True).data or None

    def _read(self, spans: Sequence[Mapping[str, Any]]) -> list[ClosePassage]:
        """Return the passages of stored spans; lists of answers prefetch them."""
        return read_passages(spans, self.context.get("passages"))

    def get_notice(self, answer: models.Answer) -> str | None:
        return notice_of(answer.intent) if answer.kind == "abstained" else None

    def get_fallback(self, answer: models.Answer) -> str | None:
        return answer.fallback or None

    def get_debug(self, answer: models.Answer) -> dict[str, Any]:
        return {"steps": answer.steps, "draft": answer.draft} if settings.IS_DEV else {"steps": []}


class AnswerShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    question = serializers.CharField(source="answer.question")
    kind = serializers.ChoiceField(models.Answer.Kind.choices, source="answer.kind")
    answer = serializers.CharField(source="answer.text", allow_blank=True)
    short = serializers.SerializerMethodField()
    short_start = serializers.SerializerMethodField()
    short_end = serializers.SerializerMethodField()
    abstained = serializers.BooleanField(source="answer.abstained")
    confidence = serializers.FloatField(source="answer.confidence", min_value=0, max_value=1)
    answerer = serializers.CharField(source="answer.answerer", allow_blank=True)
    fallback = serializers.SerializerMethodField()
    citations = CitationShown(many=True, source="answer.citations")
    closest = ClosestShown(many=True, source="answer.closest")
    disagreement = serializers.SerializerMethodField()
    notice = serializers.SerializerMethodField()
    unanswered = serializers.ListField(child=serializers.CharField(), source="answer.unanswered")
    debug = serializers.SerializerMethodField()

    def get_fallback(self, answered: AnsweredQuestion) -> str | None:
        return answered.answer.fallback or None

    def get_notice(self, answered: AnsweredQuestion) -> str | None:
        answer = answered.answer
        return notice_of(answer.intent) if answer.kind == "abstained" else None

    @extend_schema_field(ClosestShown(many=True, allow_null=True))
    def get_disagreement(self, answered: AnsweredQuestion) -> list[dict[str, Any]] | None:
        otherwise = answered.answer.disagreement
        return list(ClosestShown(otherwise, many=True).data) if otherwise else None

    def get_short(self, answered: AnsweredQuestion) -> str | None:
        span = answered.answer.short
        return answered.answer.text[slice(*span)] if span else None

    def get_short_start(self, answered: AnsweredQuestion) -> int | None:
        return answered.answer.short[0] if answered.answer.short else None

    def get_short_end(self, answered: AnsweredQuestion) -> int | None:
        return answered.answer.short[1] if answered.answer.short else None

    def get_debug(self, answered: AnsweredQuestion) -> dict[str, Any]:
        if not settings.IS_DEV:
            return {"steps": []}
        draft = answered.draft and draft_to_json(answered.draft, answered.answer)
        return {"steps": list(answered.steps), "draft": draft}
