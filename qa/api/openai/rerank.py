"""Endpoint in Cohere's format that ranks the texts of a request by relevance to a query."""

from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from django.conf import settings
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope
from corpus.api.fields import (
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    read_input,
)
from corpus.endpoints import EXAMPLE_TEXT, Cost, Endpoint, endpoint
from corpus.errors import Errors, ModelNotFound
from qa.api.openai.base_view import OpenAIView
from qa.api.openai.fields import MAX_QUESTION_CHARS, MAX_TEXT_CHARS, TEXT_SCHEMA, check_size
from qa.grounding.confidence import sigmoid
from qa.search.rerankers import rerankers

MAX_DOCUMENTS = 1_000


@extend_schema_field(
    {
        "oneOf": [
            TEXT_SCHEMA,
            {"type": "object", "required": ["text"], "properties": {"text": TEXT_SCHEMA}},
        ]
    }
)
class RerankDocument(StrictCharField):
    """A text, or an object with the field ``text``."""

    def run_validation(self, data: Any = empty) -> str:
        if isinstance(data, dict) and isinstance(data.get("text"), str):
            data = data["text"]
        text = str(super().run_validation(data))
        if not text.strip():
            self.fail("blank")
        return text


class RerankInput(serializers.Serializer[Any]):
    query = StrictCharField(max_length=MAX_QUESTION_CHARS)
    documents = serializers.ListField(
        child=RerankDocument(max_length=MAX_TEXT_CHARS, trim_whitespace=False),
        min_length=1,
        max_length=MAX_DOCUMENTS,
    )
    top_n = StrictIntegerField(min_value=1, required=False, allow_null=True)
    return_documents = StrictBooleanField(default=False, allow_null=True)
    model = StrictCharField(max_length=200, required=False, allow_null=True)

    def validate_documents(self, texts: list[str]) -> list[str]:
        return check_size(texts)


class RankedText(serializers.Serializer[Any]):
    text = serializers.CharField()


class RerankResult(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    relevance_score = serializers.FloatField(min_value=0, max_value=1)
    document = RankedText(required=False)


class ApiVersion(serializers.Serializer[Any]):
    version = serializers.CharField()


class RerankMeta(serializers.Serializer[Any]):
    api_version = ApiVersion()


class RerankOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    results = RerankResult(many=True)
    meta = RerankMeta()


@endpoint(
    POST=Endpoint(
        "rerank",
        tag="OpenAI",
        summary="Rerank texts by a query",
        scope=Scope.READ,
        cost=Cost.ENCODE,
        example={"query": "lighthouse", "documents": ["A bakery opens at five.", EXAMPLE_TEXT]},
    )
)
class RerankView(OpenAIView):
    """Rank texts by relevance to a query."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(request=RerankInput, responses={200: RerankOutput})
    def post(self, request: Request) -> Response:
        fields = read_input(RerankInput, request.data)
        reranker = rerankers[settings.PKB_RERANKER_MODEL]
        model = fields.get("model")
        if model and model != reranker.name:
            raise ModelNotFound(f"There is no reranker {model!r}. Available: {reranker.name!r}.")
        texts = fields["documents"]
        scores = reranker.score(fields["query"], texts)
        # Best first; ties keep their order.
        order = np.argsort(-scores, kind="stable")[: fields.get("top_n")]
        results: list[dict[str, Any]] = [
            {"index": int(index), "relevance_score": sigmoid(float(scores[index]))}
            for index in order
        ]
        if fields["return_documents"]:
            results = [{**each, "document": {"text": texts[each["index"]]}} for each in results]
        meta = {"api_version": {"version": "2"}}
        return Response({"id": str(uuid4()), "results": results, "meta": meta})
