"""Endpoint for embeddings of texts that are not stored."""

import base64
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from drf_spectacular.utils import extend_schema, extend_schema_field
from numpy.typing import NDArray
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope
from corpus.api.fields import StrictCharField, StrictIntegerField, read_input
from corpus.embedders import embed_passages, embedders, get_embedder
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import Errors, InvalidInput, ModelNotFound
from qa.api.openai.base_view import OpenAIView
from qa.api.openai.fields import MAX_TEXT_CHARS, TEXT_SCHEMA, Constant, check_size

MAX_INPUTS = 2_048


@extend_schema_field(
    {
        "oneOf": [
            TEXT_SCHEMA,
            {"type": "array", "minItems": 1, "maxItems": MAX_INPUTS, "items": TEXT_SCHEMA},
        ]
    }
)
class EmbeddingTexts(serializers.Field[list[str], Any, Any, Any]):
    """A text or a list of texts."""

    default_error_messages = {
        "shape": "Must be a text or a list of texts, none empty.",
        "tokens": "Token ids are of another model's alphabet; send the text.",
        "count": "At most {limit} texts.",
    }

    def to_internal_value(self, data: Any) -> list[str]:
        texts = data if isinstance(data, list) else [data]
        if not texts:
            self.fail("shape")
        if len(texts) > MAX_INPUTS:
            self.fail("count", limit=MAX_INPUTS)
        if isinstance(data, list) and any(isinstance(text, int | list) for text in texts):
            self.fail("tokens")
        text = StrictCharField(max_length=MAX_TEXT_CHARS, trim_whitespace=False)
        return [text.run_validation(each) for each in texts]


class EmbeddingInput(serializers.Serializer[Any]):
    model = StrictCharField(
        max_length=200, help_text="an embedding model that /documents/stats names"
    )
    input = EmbeddingTexts()
    dimensions = StrictIntegerField(min_value=1, required=False, allow_null=True)
    encoding_format = serializers.ChoiceField(["float", "base64"], default="float")

    def validate_input(self, texts: list[str]) -> list[str]:
        if not all(text.strip() for text in texts):
            raise serializers.ValidationError("Must be a text or a list of texts, none empty.")
        return check_size(texts)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "array", "items": {"type": "number"}},
            {"type": "string", "description": "base64 of little-endian float32"},
        ]
    }
)
class Vector(serializers.JSONField):
    pass


class EmbeddingShown(serializers.Serializer[Any]):
    object = Constant("embedding")
    index = serializers.IntegerField()
    embedding = Vector()


class EmbeddingUsage(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class EmbeddingList(serializers.Serializer[Any]):
    object = Constant("list")
    data = EmbeddingShown(many=True)  # type: ignore[assignment]
    model = serializers.CharField()
    usage = EmbeddingUsage()


def embed_texts(
    texts: Sequence[str], *, model: str, dimensions: int | None = None
) -> tuple[NDArray[np.float32], int]:
    """Embed texts as passages.

    Args:
        dimensions: Keep only the first dimensions, renormalized to L2 norm 1; None keeps all.

    Returns:
        Float32 of shape (n, d), rows of L2 norm 1, and the number of tokens of all texts.

    Raises:
        ModelNotFound: No such embedder is configured.
        InvalidInput: The model has fewer dimensions.
        BackendError: The model failed.
    """
    if model not in embedders:
        names = ", ".join(embedders.names)
        raise ModelNotFound(f"The model {model!r} is not configured. Available: {names}.")
    embedder = get_embedder(model)
    if dimensions and dimensions > embedder.dimension:
        detail = f"The model {model!r} has {embedder.dimension} dimensions."
        raise InvalidInput(detail, field="dimensions")
    vectors = embed_passages(texts, embedder=embedder)[:, :dimensions]
    norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return (vectors / norms).astype(np.float32), sum(embedder.count_tokens(texts))


@endpoint(
    POST=Endpoint(
        "create_embeddings",
        tag="OpenAI",
        summary="Embed texts",
        scope=Scope.READ,
        cost=Cost.ENCODE,
        example={"model": "bge-small-en-v1.5+all-MiniLM-L6-v2", "input": ["a text"]},
    )
)
class EmbeddingsView(OpenAIView):
    """Embed texts with a configured model."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(request=EmbeddingInput, responses={200: EmbeddingList})
    def post(self, request: Request) -> Response:
        fields = read_input(EmbeddingInput, request.data)
        vectors, tokens = embed_texts(
            fields["input"], model=fields["model"], dimensions=fields.get("dimensions")
        )
        rows: list[Any] = vectors.tolist()
        if fields["encoding_format"] == "base64":
            rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
        body = {
            "data": [{"index": index, "embedding": row} for index, row in enumerate(rows)],
            "model": fields["model"],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        return Response(EmbeddingList(body).data)
