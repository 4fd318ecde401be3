"""Endpoint of a collection's confidence: its threshold, judgements and refit."""

from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.api.fields import StrictBooleanField, StrictIntegerField, read_input
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors, NotAllowed
from corpus.models import Collection
from corpus.models.collection import MAX_WRONG_PERCENT
from qa.learned_confidence import change_confidence, read_state


class RefitShown(serializers.Serializer[Any]):
    slope = serializers.FloatField(help_text="of the shipped fit's logit")
    offset = serializers.FloatField()
    log_loss = serializers.FloatField(help_text="of judged answers in other documents")
    shipped_log_loss = serializers.FloatField()
    p = serializers.FloatField(help_text="chance that a refit no better does as well")
    is_better = serializers.BooleanField(help_text="it is in force while learns_confidence is true")


class ConfidenceChange(serializers.Serializer[Any]):
    max_wrong_percent = StrictIntegerField(
        min_value=1, max_value=MAX_WRONG_PERCENT, required=False, allow_null=True
    )
    learns_confidence = StrictBooleanField(required=False)


class ConfidenceShown(serializers.Serializer[Any]):
    max_wrong_percent = serializers.IntegerField(
        allow_null=True, help_text="maximum percentage of wrong answers"
    )
    learns_confidence = serializers.BooleanField(help_text="judged answers refit the confidence")
    answer_from = serializers.FloatField(help_text="confidence from which answers are given")
    is_promised = serializers.BooleanField(help_text="judged answers prove max_wrong_percent")
    judged = serializers.IntegerField()
    wrong = serializers.IntegerField()
    judgements_needed = serializers.IntegerField(
        allow_null=True, help_text="further judgements that would prove it; null also if none would"
    )
    needed_from = serializers.FloatField(
        allow_null=True, help_text="of answers with this confidence or more"
    )
    coverage = serializers.FloatField(
        allow_null=True, help_text="share of questions that are answered with the promise"
    )
    shipped_coverage = serializers.FloatField(allow_null=True, help_text="without it")
    refit = RefitShown(allow_null=True)
    learned_at = serializers.DateTimeField(allow_null=True)


@endpoint(
    GET=Endpoint(
        "get_confidence",
        tag="Collections",
        summary="Get the confidence threshold and refit of a collection",
    ),
    PATCH=Endpoint(
        "change_confidence",
        tag="Collections",
        summary="Promise how many answers may be wrong, or take a refit back",
        example={"max_wrong_percent": 20},
    ),
)
class ConfidenceView(APIView):
    """Show a collection's confidence threshold and refit; owners set the promise."""

    errors: ClassVar[Errors] = {
        "get": [CollectionNotFound],
        "patch": [CollectionNotFound, NotAllowed],
    }

    @extend_schema(responses={200: ConfidenceShown})
    def get(self, request: Request, name: str) -> Response:
        return Response(_render(name))

    @extend_schema(request=ConfidenceChange, responses={200: ConfidenceShown})
    def patch(self, request: Request, name: str) -> Response:
        change_confidence(name, **read_input(ConfidenceChange, request.data))
        return Response(_render(name))


def _render(name: str) -> Any:
    state = read_state(Collection.objects.get_named(name))
    refit = state.refit and state.refit._asdict()
    return ConfidenceShown({**asdict(state), "refit": refit}).data
