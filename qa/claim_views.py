"""The door to the check of claims."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.errors import CollectionNotFound, Errors
from corpus.tagging import normalize_tags
from qa.claim_serializers import ClaimInput, ClaimShown
from qa.ports import EXTRACTIVE, build_context
from qa.verifying_claims import verify_claim


class VerifyClaimView(APIView):
    """Tell whether a claim is held up by a text, or by a collection."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=ClaimInput, responses={200: ClaimShown})
    def post(self, request: Request) -> Response:
        form = ClaimInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        verified = verify_claim(
            given["claim"],
            text=given.get("text"),
            collection=given["collection"],
            tags=normalize_tags(given["tags"]),
            context=build_context(lm=EXTRACTIVE),
        )
        return Response(ClaimShown(verified).data)
