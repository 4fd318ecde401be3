"""Bodies in OpenAI's and Cohere's format; fields without effect are left out."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from corpus.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField

MAX_QUESTION_CHARS = 2_000
MAX_MESSAGES = 1_000
MAX_INPUTS = 2_048
MAX_DOCUMENTS = 1_000
MAX_TEXT_CHARS = 200_000

_TEXT = {"type": "string", "minLength": 1, "pattern": r"\S", "maxLength": MAX_TEXT_CHARS}
_PART = {
    "type": "object",
    "required": ["type", "text"],
    "properties": {"type": {"type": "string", "enum": ["text"]}, "text": {"type": "string"}},
}


def always(value: str) -> serializers.CharField:
    """Return a field of responses that has one constant value."""
    decorate = extend_schema_field({"type": "string", "const": value})
    return decorate(serializers.CharField())  # type: ignore[type-var]


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": _PART}, {"type": "null"}]}
)
class MessageContent(serializers.Field[str, Any, Any, Any]):
    """The text of a message: a string, or a list of text parts that are joined."""

    part_types: ClassVar[Sequence[str]] = ("text",)
    default_error_messages = {
        "shape": "A string, or a list of parts.",
        "part": "Only parts {{type: {type}, text}} can be read.",
    }

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, str):
            return data
        if not isinstance(data, list):
            self.fail("shape")
        return "\n".join(self._text_of(part) for part in data)

    def _text_of(self, part: Any) -> str:
        is_text = isinstance(part, dict) and part.get("type") in self.part_types
        text = part.get("text") if is_text else None
        if not isinstance(text, str):
            self.fail("part", type=self.part_types[0])
        return text

    def to_representation(self, value: Any) -> Any:
        return value


class Message(serializers.Serializer[Any]):
    role = serializers.ChoiceField(["system", "developer", "user", "assistant", "tool", "function"])
    content = MessageContent(required=False, allow_null=True)


class StreamOptions(serializers.Serializer[Any]):
    include_usage = StrictBooleanField(default=False)


class CompletionInput(serializers.Serializer[Any]):
    """Sampling parameters and tools are accepted and ignored."""

    model = StrictCharField(max_length=200, help_text="`pkb/<collection>`")
    messages = Message(many=True, allow_empty=False, min_length=1, max_length=MAX_MESSAGES)  # type: ignore[call-arg]
    stream = StrictBooleanField(default=False, allow_null=True)
    stream_options = StreamOptions(required=False, allow_null=True)
    n = StrictIntegerField(min_value=1, max_value=1, default=1, allow_null=True)

    def validate_messages(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return check_messages(messages)


def check_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reject messages without a question or with too long a one; trim the question."""
    asked = [at for at, message in enumerate(messages) if message["role"] == "user"]
    said = (messages[asked[-1]].get("content") or "") if asked else ""
    if not said.strip():
        raise serializers.ValidationError("Must contain a user message with a question.")
    question = StrictCharField(max_length=MAX_QUESTION_CHARS).run_validation(said)
    return [
        {**message, "content": question} if at == asked[-1] else message
        for at, message in enumerate(messages)
    ]


class TokenUsage(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class FileCitation(serializers.Serializer[Any]):
    file_id = serializers.UUIDField(help_text="the document's id")
    filename = serializers.CharField()
    quote = serializers.CharField(help_text="exact quote from the document")
    start_index = serializers.IntegerField(
        help_text="start of the supported or quoted part in `content`"
    )
    end_index = serializers.IntegerField()


class Annotation(serializers.Serializer[Any]):
    type = always("file_citation")
    file_citation = FileCitation()


class CompletionMessage(serializers.Serializer[Any]):
    role = always("assistant")
    content = serializers.CharField(
        help_text="text in which `[1]` follows the part of the first annotation"
    )
    refusal = serializers.CharField(allow_null=True)
    annotations = Annotation(many=True)


class CompletionChoice(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    message = CompletionMessage()
    finish_reason = always("stop")


class ChatCompletion(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`chatcmpl-` and the id of the stored answer")
    object = always("chat.completion")
    created = serializers.IntegerField()
    model = serializers.CharField()
    choices = CompletionChoice(many=True)
    usage = TokenUsage()


class ModelShown(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`pkb/<collection>`")
    object = always("model")
    created = serializers.IntegerField()
    owned_by = serializers.CharField()


class ModelList(serializers.Serializer[Any]):
    object = always("list")
    data = ModelShown(many=True)  # type: ignore[assignment]


@extend_schema_field(
    {"oneOf": [_TEXT, {"type": "array", "minItems": 1, "maxItems": MAX_INPUTS, "items": _TEXT}]}
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

    def to_representation(self, value: Any) -> Any:
        return value


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
        return _check_size(texts)


def _check_size(texts: list[str]) -> list[str]:
    """Reject requests that would occupy the models for minutes."""
    most = settings.PKB_MODEL_INPUT_CHARS
    if (count := sum(map(len, texts))) > most:
        raise serializers.ValidationError(
            f"{count:,} characters; at most {most:,} are allowed. Send several requests."
        )
    return texts


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
    object = always("embedding")
    index = serializers.IntegerField()
    embedding = Vector()


class EmbeddingUsage(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class EmbeddingList(serializers.Serializer[Any]):
    object = always("list")
    data = EmbeddingShown(many=True)  # type: ignore[assignment]
    model = serializers.CharField()
    usage = EmbeddingUsage()


@extend_schema_field(
    {
        "oneOf": [
            _TEXT,
            {"type": "object", "required": ["text"], "properties": {"text": _TEXT}},
        ]
    }
)
class RerankDocument(StrictCharField):
    """A text, or an object with the field ``text``."""

    def run_validation(self, data: Any = empty) -> str:
        text = str(super().run_validation(data["text"] if _has_text(data) else data))
        if not text.strip():
            self.fail("blank")
        return text


def _has_text(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("text"), str)


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
        return _check_size(texts)


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
