"""Endpoint for chat completions, complete or streamed."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers

from corpus.access.principal import Scope
from corpus.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField
from corpus.endpoints import EXAMPLE_QUESTION, Cost, Endpoint, endpoint
from corpus.errors import PkbError
from qa.api.chat_stream import render_event
from qa.api.openai.base_view import openai_error
from qa.api.openai.fields import MAX_MESSAGES, Constant, MessageContent, check_messages
from qa.api.openai.replies import (
    EVENTS,
    AnnotatedReply,
    CitedSpanShown,
    ReplyFormat,
    ReplyView,
)


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


class TokenUsage(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class FileCitation(CitedSpanShown):
    filename = serializers.CharField(source="quote.name")


class Annotation(serializers.Serializer[Any]):
    type = Constant("file_citation")
    file_citation = FileCitation(source="*")


class CompletionMessage(serializers.Serializer[Any]):
    role = Constant("assistant")
    content = serializers.CharField(
        help_text="text in which `[1]` follows the part of the first annotation"
    )
    refusal = serializers.CharField(allow_null=True)
    annotations = Annotation(many=True)


class CompletionChoice(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    message = CompletionMessage()
    finish_reason = Constant("stop")


class ChatCompletion(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`chatcmpl-` and the id of the stored answer")
    object = Constant("chat.completion")
    created = serializers.IntegerField()
    model = serializers.CharField()
    choices = CompletionChoice(many=True)
    usage = TokenUsage()


class Completion(ReplyFormat):
    def whole(self, reply: AnnotatedReply) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": Annotation(reply.citations, many=True).data,
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return self._body("chat.completion", choices=[choice], usage=_usage(reply))

    async def stream(
        self, answer: Callable[[], AnnotatedReply], fields: Mapping[str, Any]
    ) -> AsyncIterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            reply = await sync_to_async(answer)()
        except PkbError as exc:
            problem = {"status": exc.status, "detail": str(exc) or exc.title, "error": exc.code}
            yield render_event(openai_error(problem))
            return
        for delta in part_deltas(reply):
            yield self._chunk(delta)
        yield self._chunk({}, finish_reason="stop")
        if (fields.get("stream_options") or {}).get("include_usage"):
            yield render_event(self._body("chat.completion.chunk", choices=[], usage=_usage(reply)))
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return render_event(self._body("chat.completion.chunk", choices=[choice]))

    def _body(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.key}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            **fields,
        }


def part_deltas(reply: AnnotatedReply) -> Iterator[dict[str, Any]]:
    for part in reply.parts:
        delta: dict[str, Any] = {"content": part.text}
        if part.citation:
            delta["annotations"] = [Annotation(part.citation).data]
        yield delta


def _usage(reply: AnnotatedReply) -> dict[str, int]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }


@endpoint(
    POST=Endpoint(
        "create_chat_completion",
        tag="OpenAI",
        summary="Answer a conversation",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={
            "model": "pkb/default",
            "messages": [{"role": "user", "content": EXAMPLE_QUESTION}],
        },
    )
)
@extend_schema_view(
    post=extend_schema(
        request=CompletionInput, responses={(200, "application/json"): ChatCompletion, **EVENTS}
    )
)
class ChatCompletionsView(ReplyView):
    """Answer the last user message from the collection that the model names."""

    form = CompletionInput
    format = Completion
    route = "chat_completions"
