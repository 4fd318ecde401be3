"""Request and response bodies of /v1/responses; fields without effect are left out."""

from typing import Any, ClassVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from corpus.api.fields import StrictBooleanField, StrictCharField
from qa.api.openai.chat_serializers import MAX_MESSAGES, MessageContent, always, check_messages

ROLES = ("user", "assistant", "system", "developer")
# A part of a message that was sent, or of a reply before.
PARTS = ("input_text", "output_text")
# Items of conversations with other models that contain no question.
IGNORED_ITEMS = (
    "reasoning", "function_call", "function_call_output", "file_search_call", "web_search_call",
)  # fmt: skip

_PART = {
    "type": "object",
    "required": ["type", "text"],
    "properties": {"type": {"type": "string", "enum": PARTS}, "text": {"type": "string"}},
}
_CONTENT = {"oneOf": [{"type": "string"}, {"type": "array", "items": _PART}]}
_MESSAGE = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "type": {"type": "string", "const": "message"},
        "role": {"type": "string", "enum": ROLES},
        "content": _CONTENT,
    },
}
_OTHER = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"type": "string", "enum": IGNORED_ITEMS}},
}
_INPUT = {
    "oneOf": [
        {"type": "string"},
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_MESSAGES,
            "items": {"anyOf": [_MESSAGE, _OTHER]},
        },
    ]
}
_NOT_KEPT = "Responses are not kept: send the messages before this one in `input`."


@extend_schema_field(_CONTENT)
class ItemContent(MessageContent):
    part_types: ClassVar = PARTS


class MessageItem(serializers.Serializer[Any]):
    type = serializers.ChoiceField(["message"], required=False)
    role = serializers.ChoiceField(ROLES)
    content = ItemContent()


@extend_schema_field(_INPUT)
class ResponseItems(serializers.Field[list[dict[str, Any]], Any, Any, Any]):
    """A question, or a list of messages that ends with one."""

    default_error_messages = {
        "shape": f"A string, or a list of 1 to {MAX_MESSAGES:,} items.",
    }

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if isinstance(data, str):
            return check_messages([{"role": "user", "content": data}])
        if not isinstance(data, list) or not 1 <= len(data) <= MAX_MESSAGES:
            self.fail("shape")
        messages = [item for item in data if not _is_passed_over(item)]
        return check_messages(MessageItem(many=True).run_validation(messages))

    def to_representation(self, value: Any) -> Any:
        return value


def _is_passed_over(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in IGNORED_ITEMS


@extend_schema_field({"type": "null"})
class UnsupportedField(serializers.Field[None, Any, Any, Any]):
    """A field that refers to stored history; this endpoint stores none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def run_validation(self, data: Any = empty) -> None:
        if data not in (None, empty):
            raise serializers.ValidationError(_NOT_KEPT)

    def to_representation(self, value: Any) -> Any:
        return value


class ResponseInput(serializers.Serializer[Any]):
    """Instructions, sampling parameters and tools are accepted and ignored."""

    model = StrictCharField(max_length=200, help_text="`pkb/<collection>`")
    input = ResponseItems()
    stream = StrictBooleanField(default=False, allow_null=True)
    previous_response_id = UnsupportedField()
    conversation = UnsupportedField()
    background = StrictBooleanField(default=False, allow_null=True, help_text="`true` is rejected")

    def validate_background(self, value: bool | None) -> bool:
        if value:
            raise serializers.ValidationError("Background responses are not supported.")
        return False


class ResponseFileCitation(serializers.Serializer[Any]):
    """A span of the text supported by a stored document; ``index`` is its end."""

    type = always("file_citation")
    file_id = serializers.UUIDField(help_text="the document's id")
    filename = serializers.CharField()
    index = serializers.IntegerField(help_text="equals `end_index`")
    quote = serializers.CharField(help_text="exact quote from the document")
    start_index = serializers.IntegerField(
        help_text="start of the supported or quoted part in `text`"
    )
    end_index = serializers.IntegerField()


class ResponseUrlCitation(serializers.Serializer[Any]):
    """A span of the text supported by a document imported from a web page."""

    type = always("url_citation")
    url = serializers.CharField()
    title = serializers.CharField()
    file_id = serializers.UUIDField(help_text="the document's id")
    quote = serializers.CharField(help_text="exact quote from the document")
    start_index = serializers.IntegerField(
        help_text="start of the supported or quoted part in `text`"
    )
    end_index = serializers.IntegerField()


class OutputText(serializers.Serializer[Any]):
    type = always("output_text")
    text = serializers.CharField(
        help_text="text in which `[1]` follows the part of the first annotation"
    )
    annotations = PolymorphicProxySerializer(
        component_name="ResponseAnnotation",
        serializers=[ResponseFileCitation, ResponseUrlCitation],
        resource_type_field_name=None,
        many=True,
    )


class OutputMessage(serializers.Serializer[Any]):
    type = always("message")
    id = serializers.CharField()
    role = always("assistant")
    status = always("completed")
    content = OutputText(many=True)


class ResponseUsage(serializers.Serializer[Any]):
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class ResponseShown(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`resp_` and the id of the stored answer")
    object = always("response")
    created_at = serializers.IntegerField()
    model = serializers.CharField()
    status = always("completed")
    output = OutputMessage(many=True)
    usage = ResponseUsage()
