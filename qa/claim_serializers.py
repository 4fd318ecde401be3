from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from corpus.fields import CollectionName, TagList, Text
from corpus.models import DEFAULT_COLLECTION, PREVIEW_CHARS
from qa.types import Citation
from qa.verifying_claims import MAX_CLAIM_CHARS

VERDICTS = ("supported", "partial", "unsupported", "contradicted")


class ClaimInput(serializers.Serializer[Any]):
    claim = Text(max_length=MAX_CLAIM_CHARS)
    text = Text(
        required=False, allow_null=True, trim_whitespace=False, help_text="instead of a collection"
    )
    collection = CollectionName(default=DEFAULT_COLLECTION)
    tags = TagList(default=list)

    def validate_text(self, text: str | None) -> str | None:
        if text is not None and not text.strip():
            raise serializers.ValidationError("This field may not be blank.", code="blank")
        return text


class ClaimCitation(serializers.Serializer[Any]):
    """A citation; into the text that was sent it is ``selected`` and has no ids."""

    chunk_id = serializers.SerializerMethodField()
    document_id = serializers.SerializerMethodField()
    selected = serializers.SerializerMethodField()
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
    answer_start = serializers.IntegerField(help_text="in the claim")
    answer_end = serializers.IntegerField(help_text="in the claim")
    support = serializers.ChoiceField(VERDICTS)

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_chunk_id(self, citation: Citation) -> str | None:
        return citation.passage.chunk_id or None

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_document_id(self, citation: Citation) -> str | None:
        return citation.passage.document_id or None

    def get_selected(self, citation: Citation) -> bool:
        return not citation.passage.document_id

    def get_preview(self, citation: Citation) -> str:
        return citation.passage.text[:PREVIEW_CHARS]


class ClaimShown(serializers.Serializer[Any]):
    support = serializers.ChoiceField(VERDICTS)
    score = serializers.FloatField(min_value=0, max_value=1)
    citations = ClaimCitation(many=True)
