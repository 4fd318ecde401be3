from typing import Any

from django.conf import settings
from rest_framework import serializers

from corpus.fields import CollectionName, TagList, Text
from corpus.models import DEFAULT_COLLECTION
from qa.serializers import CitationShown
from qa.verifying_claims import MAX_CLAIM_CHARS

VERDICTS = ("supported", "partial", "unsupported", "contradicted")


class ClaimInput(serializers.Serializer[Any]):
    claim = Text(max_length=MAX_CLAIM_CHARS)
    text = Text(
        required=False,
        allow_null=True,
        trim_whitespace=False,
        max_length=settings.PKB_MAX_INPUT_CHARS,
        help_text="instead of a collection",
    )
    collection = CollectionName(default=DEFAULT_COLLECTION)
    tags = TagList(default=list)

    def validate_text(self, text: str | None) -> str | None:
        if text is not None and not text.strip():
            raise serializers.ValidationError("This field may not be blank.", code="blank")
        return text


class ClaimCitation(CitationShown):
    """A citation, placed in the claim; one that contradicts it is shown too."""

    support = serializers.ChoiceField(VERDICTS)


class ClaimShown(serializers.Serializer[Any]):
    support = serializers.ChoiceField(VERDICTS)
    score = serializers.FloatField(min_value=0, max_value=1)
    citations = ClaimCitation(many=True)
