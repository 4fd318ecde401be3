"""Endpoint that checks claims."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import QualifiedNameField, StrictCharField, TagListField, read_input
from corpus.endpoints import EXAMPLE_TEXT, Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors
from corpus.models import DEFAULT_COLLECTION
from qa.answer_record import CitationShown, cited_quote
from qa.context import EXTRACTIVE, build_context
from qa.grounding.support.verdict import PARTIAL_FROM
from qa.types import Citation
from qa.verify_claim import MAX_CLAIM_CHARS, verify_claim

VERDICTS = ("supported", "partial", "unsupported", "contradicted")


class ClaimInput(serializers.Serializer[Any]):
    claim = StrictCharField(max_length=MAX_CLAIM_CHARS)
    text = StrictCharField(
        required=False,
        allow_null=True,
        trim_whitespace=False,
        max_length=settings.PKB_MAX_INPUT_CHARS,
        help_text="text to check against, instead of a collection",
    )
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)
    tags = TagListField(default=tuple)

    def validate_text(self, text: str | None) -> str | None:
        if text is not None and not text.strip():
            raise serializers.ValidationError("This field may not be blank.", code="blank")
        return text


class ClaimCitation(CitationShown):
    """A citation for a span of the claim; it may also contradict the claim."""

    support = serializers.ChoiceField(VERDICTS)

    def to_representation(self, instance: Citation) -> dict[str, Any]:
        return super().to_representation(cited_quote(instance))


class ClaimShown(serializers.Serializer[Any]):
    support = serializers.ChoiceField(VERDICTS)
    score = serializers.FloatField(
        min_value=0,
        max_value=1,
        help_text=f"from {PARTIAL_FROM} on, the claim counts as supported; far lower if"
        " a number, name, negation, unit or opposite differs",
    )
    citations = ClaimCitation(many=True)


@endpoint(
    POST=Endpoint(
        "verify_claim",
        tag="Search",
        summary="Verify a claim",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={"claim": "Orsolya Quill built the lighthouse.", "text": EXAMPLE_TEXT},
    )
)
class VerifyClaimView(APIView):
    """Check whether a text or a collection supports a claim."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=ClaimInput, responses={200: ClaimShown})
    def post(self, request: Request) -> Response:
        fields = read_input(ClaimInput, request.data)
        verified = verify_claim(
            fields["claim"],
            text=fields.get("text"),
            collection=fields["collection"],
            tags=fields["tags"],
            context=build_context(lm=EXTRACTIVE),
        )
        return Response(ClaimShown(verified).data)
