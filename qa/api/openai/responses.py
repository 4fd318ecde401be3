"""Endpoint for OpenAI's responses, complete or streamed; fields without effect are left out."""

from collections.abc import AsyncIterator, Callable, Mapping
from itertools import count
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from drf_spectacular.utils import (
    PolymorphicProxySerializer,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers
from rest_framework.fields import empty

from corpus.access.principal import Scope
from corpus.api.fields import StrictBooleanField, StrictCharField
from corpus.endpoints import EXAMPLE_QUESTION, Cost, Endpoint, endpoint
from corpus.errors import PkbError
from qa.api.chat_stream import render_event
from qa.api.openai.fields import MAX_MESSAGES, Constant, MessageContent, check_messages
from qa.api.openai.replies import (
    EVENTS,
    AnnotatedReply,
    CitedSpan,
    CitedSpanShown,
    ReplyFormat,
    ReplyView,
)

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
        messages = [
            item
            for item in data
            if not (isinstance(item, dict) and item.get("type") in IGNORED_ITEMS)
        ]
        return check_messages(MessageItem(many=True).run_validation(messages))


@extend_schema_field({"type": "null"})
class UnsupportedField(serializers.Field[None, Any, Any, Any]):
    """A field that refers to stored history; this endpoint stores none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def run_validation(self, data: Any = empty) -> None:
        if data not in (None, empty):
            raise serializers.ValidationError(_NOT_KEPT)


class ResponseInput(serializers.Serializer[Any]):
    """Instructions, sampling parameters and tools are accepted and ignored."""

    model = StrictCharField(max_length=200, help_text="`pkb/<collection>`")
    input = ResponseItems(source="messages")
    stream = StrictBooleanField(default=False, allow_null=True)
    previous_response_id = UnsupportedField()
    conversation = UnsupportedField()
    background = StrictBooleanField(default=False, allow_null=True, help_text="`true` is rejected")

    def validate_background(self, value: bool | None) -> bool:
        if value:
            raise serializers.ValidationError("Background responses are not supported.")
        return False


class ResponseFileCitation(CitedSpanShown):
    """A span of the text supported by a stored document; ``index`` is its end."""

    type = Constant("file_citation")
    filename = serializers.CharField(source="quote.name")
    index = serializers.IntegerField(source="end", help_text="equals `end_index`")


class ResponseUrlCitation(CitedSpanShown):
    """A span of the text supported by a document imported from a web page."""

    type = Constant("url_citation")
    url = serializers.CharField(source="quote.source_uri")
    title = serializers.CharField(source="quote.name")


class OutputText(serializers.Serializer[Any]):
    type = Constant("output_text")
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
    type = Constant("message")
    id = serializers.CharField()
    role = Constant("assistant")
    status = Constant("completed")
    content = OutputText(many=True)


class ResponseUsage(serializers.Serializer[Any]):
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class ResponseShown(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`resp_` and the id of the stored answer")
    object = Constant("response")
    created_at = serializers.IntegerField()
    model = serializers.CharField()
    status = Constant("completed")
    output = OutputMessage(many=True)
    usage = ResponseUsage()


# A response has one message, and that one part.
_PLACE = {"output_index": 0, "content_index": 0}
# These parameters have no effect and are not reported as applied.
_UNUSED: dict[str, Any] = {
    "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
    "parallel_tool_calls": False, "previous_response_id": None, "store": False,
    "temperature": None, "tool_choice": "none", "tools": [], "top_p": None, "usage": None,
}  # fmt: skip


class ResponseFormat(ReplyFormat):
    def whole(self, reply: AnnotatedReply) -> dict[str, Any]:
        usage = {
            "input_tokens": reply.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": reply.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        }
        output = [self._message("completed", [_output_text(reply)])]
        return self._body("completed", output=output, usage=usage)

    async def stream(
        self, answer: Callable[[], AnnotatedReply], fields: Mapping[str, Any]
    ) -> AsyncIterator[bytes]:
        numbers = count()

        def as_event(kind: str, **fields: Any) -> bytes:
            kind = f"response.{kind}"
            body = {"type": kind, "sequence_number": next(numbers), **fields}
            return render_event(body, kind=kind)

        for kind in ("created", "in_progress"):
            yield as_event(kind, response=self._body("in_progress"))
        try:
            reply = await sync_to_async(answer)()
        except PkbError as exc:
            error = {"code": "server_error", "message": str(exc) or exc.title}
            yield as_event("failed", response=self._body("failed", error=error))
            return
        text = _output_text(reply)
        part = {**_PLACE, "item_id": f"msg_{self.key}"}
        message = self._message("in_progress", [])
        yield as_event("output_item.added", output_index=0, item=message)
        empty_part = {**text, "text": "", "annotations": []}
        yield as_event("content_part.added", **part, part=empty_part)
        indexes = count()
        for piece in reply.parts:
            yield as_event("output_text.delta", **part, delta=piece.text, logprobs=[])
            if piece.citation:
                yield as_event(
                    "output_text.annotation.added",
                    **part,
                    annotation_index=next(indexes),
                    annotation=_annotation_body(piece.citation),
                )
        yield as_event("output_text.done", **part, text=reply.text, logprobs=[])
        yield as_event("content_part.done", **part, part=text)
        message = self._message("completed", [text])
        yield as_event("output_item.done", output_index=0, item=message)
        yield as_event("completed", response=self.whole(reply))

    def _body(self, status: str, **fields: Any) -> dict[str, Any]:
        return {
            **_UNUSED,
            "id": f"resp_{self.key}",
            "object": "response",
            "created_at": self.created,
            "model": self.model,
            "status": status,
            "output": [],
            **fields,
        }

    def _message(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"msg_{self.key}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }


def _output_text(reply: AnnotatedReply) -> dict[str, Any]:
    annotations = [_annotation_body(citation) for citation in reply.citations]
    return {"type": "output_text", "text": reply.text, "annotations": annotations, "logprobs": []}


def _annotation_body(citation: CitedSpan) -> dict[str, Any]:
    """Cite a web page by its URL, and any other document by its id."""
    is_page = citation.quote.source_uri.startswith(("https://", "http://"))
    return dict((ResponseUrlCitation if is_page else ResponseFileCitation)(citation).data)


@endpoint(
    POST=Endpoint(
        "create_response",
        tag="OpenAI",
        summary="Answer a question or a conversation",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={"model": "pkb/default", "input": EXAMPLE_QUESTION},
    )
)
@extend_schema_view(
    post=extend_schema(
        request=ResponseInput, responses={(200, "application/json"): ResponseShown, **EVENTS}
    )
)
class ResponsesView(ReplyView):
    """Answer the last question from the collection that the model names."""

    form = ResponseInput
    format = ResponseFormat
    route = "responses"
