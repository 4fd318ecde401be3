"""Endpoint for chat completions, complete or streamed."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from time import time
from typing import Any, ClassVar
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope, bind_principal
from corpus.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField
from corpus.endpoints import EXAMPLE_QUESTION, Cost, Endpoint, endpoint
from corpus.errors import Errors, ModelNotFound, PkbError
from qa.api.openai.base_view import EVENT, EVENT_STREAM, OpenAIView, stream_events
from qa.api.openai.fields import MAX_MESSAGES, MessageContent, always, check_messages
from qa.api.openai.openai_errors import openai_error
from qa.api.openai.replies import AnnotatedReply, CitedSpan, answer_messages
from qa.api.openai.served_models import find_collection

DONE = b"data: [DONE]\n\n"


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


@dataclass(frozen=True, slots=True)
class Completion:
    """The fields that all parts of one reply share.

    Attributes:
        key: Of the reply: its id without the prefix.
        model: As the request names it.
        created: Unix time in seconds.
    """

    key: str
    model: str
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, reply: AnnotatedReply) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": [_annotation_body(each) for each in reply.citations],
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def usage_chunk(self, reply: AnnotatedReply) -> bytes:
        head = self._head("chat.completion.chunk")
        return _event({**head, "choices": [], "usage": _usage(reply)})

    def _head(self, kind: str) -> dict[str, Any]:
        key = f"chatcmpl-{self.key}"
        return {"id": key, "object": kind, "created": self.created, "model": self.model}


def part_deltas(reply: AnnotatedReply) -> Iterator[dict[str, Any]]:
    """Yield the delta of each part of the reply."""
    for part in reply.parts:
        delta: dict[str, Any] = {"content": part.text}
        if part.citation:
            delta["annotations"] = [_annotation_body(part.citation)]
        yield delta


def _annotation_body(citation: CitedSpan) -> dict[str, Any]:
    return {
        "type": "file_citation",
        "file_citation": {
            "file_id": citation.quote.document_id,
            "filename": citation.quote.name,
            "quote": citation.quote.quote,
            "start_index": citation.start,
            "end_index": citation.end,
        },
    }


def _usage(reply: AnnotatedReply) -> dict[str, int]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


async def stream_completion(
    answer: Callable[[], AnnotatedReply], *, completion: Completion, with_usage: bool
) -> AsyncIterator[bytes]:
    """Yield the events of a reply; no text is sent before all of it is verified."""
    yield completion.chunk({"role": "assistant", "content": ""})
    try:
        reply = await sync_to_async(answer)()
    except PkbError as exc:
        problem = {"status": exc.status, "detail": str(exc) or exc.title, "error": exc.code}
        yield _event(openai_error(problem))
        return
    for delta in part_deltas(reply):
        yield completion.chunk(delta)
    yield completion.chunk({}, finish_reason="stop")
    if with_usage:
        yield completion.usage_chunk(reply)
    yield DONE


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
class ChatCompletionsView(OpenAIView):
    """Answer the last user message from the collection that the model names."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(
        request=CompletionInput,
        responses={(200, "application/json"): ChatCompletion, (200, EVENT_STREAM): EVENT},
    )
    def post(self, request: Request) -> HttpResponseBase:
        form = CompletionInput(data=request.data)
        form.is_valid(raise_exception=True)
        fields = form.validated_data
        model = fields["model"]
        answer = bind_principal(
            partial(
                answer_messages,
                fields["messages"],
                collection=find_collection(model),
                route="chat_completions",
            )
        )
        if fields["stream"]:
            options = fields.get("stream_options") or {}
            events = stream_completion(
                answer,
                completion=Completion(uuid4().hex, model),
                with_usage=options.get("include_usage", False),
            )
            return stream_events(events)
        reply = answer()
        return Response(Completion(reply.answer_id, model).whole(reply))
