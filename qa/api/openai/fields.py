"""Fields that the bodies of several /v1 endpoints share; fields without effect are left out."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from corpus.api.fields import StrictCharField

MAX_QUESTION_CHARS = 2_000
MAX_MESSAGES = 1_000
MAX_TEXT_CHARS = 200_000

TEXT_SCHEMA = {"type": "string", "minLength": 1, "pattern": r"\S", "maxLength": MAX_TEXT_CHARS}
_PART = {
    "type": "object",
    "required": ["type", "text"],
    "properties": {"type": {"type": "string", "enum": ["text"]}, "text": {"type": "string"}},
}


class Constant(serializers.CharField):
    """A field of responses that has one value, whatever is shown."""

    def __init__(self, value: str) -> None:
        super().__init__(source="*")
        self._value = value
        extend_schema_field({"type": "string", "const": value})(self)  # type: ignore[type-var]

    def to_representation(self, value: Any) -> str:
        return self._value


class UnixTimeField(serializers.IntegerField):
    """A time as whole seconds since 1970."""

    def to_representation(self, value: Any) -> int:
        return int(value.timestamp())


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
        parts = [
            part for part in data if isinstance(part, dict) and part.get("type") in self.part_types
        ]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        if len(texts) < len(data):
            self.fail("part", type=self.part_types[0])
        return "\n".join(texts)


def check_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reject messages without a question or with too long a one; trim the question."""
    asked = [at for at, message in enumerate(messages) if message["role"] == "user"]
    text = (messages[asked[-1]].get("content") or "") if asked else ""
    if not text.strip():
        raise serializers.ValidationError("Must contain a user message with a question.")
    question = StrictCharField(max_length=MAX_QUESTION_CHARS).run_validation(text)
    return [
        {**message, "content": question} if at == asked[-1] else message
        for at, message in enumerate(messages)
    ]


def check_size(texts: list[str]) -> list[str]:
    """Reject requests that would occupy the models for minutes."""
    limit = settings.PKB_MODEL_INPUT_CHARS
    if (count := sum(map(len, texts))) > limit:
        raise serializers.ValidationError(
            f"{count:,} characters; at most {limit:,} are allowed. Send several requests."
        )
    return texts
