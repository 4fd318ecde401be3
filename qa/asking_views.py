"""The doors to a conversation: parse, call, render."""

from collections.abc import AsyncGenerator
from typing import Any, ClassVar
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.errors import AnswerNotFound, ChatNotFound, CollectionNotFound, Errors
from corpus.models import Collection
from qa.asking_serializers import AskInput, AskSelectedInput, ChatInput, ReplyShown
from qa.chat_events import ChatRequest, check_readable, open_stream
from qa.conversing import CONTEXT_TOKENS, ask_in_session, open_session
from qa.feedback import give_feedback
from qa.models import Answer
from qa.ports import build_context
from qa.stored_serializers import FeedbackInput, FeedbackShown, StoredAnswerShown
from qa.streaming import replay_answer, stream_answer
from qa.turns import opening_turn

MAX_EVENT_ID_DIGITS = 9
EVENT = {
    "type": "object",
    "description": "One event; data is JSON: {type, content, citation}, and answer on done.",
    "required": ["data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": ["chunk", "citation", "done", "error"]},
        "data": {"type": "string"},
    },
}
EVENTS = {(200, "text/event-stream"): EVENT}


class EventStreamRenderer(JSONRenderer):
    """Lets a client ask for events alone; what is no stream is JSON all the same."""

    media_type = "text/event-stream"
    format = "events"


class AskView(APIView):
    """Answer a question within a session; with ``stream``, as events like /chat."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}
    form = AskInput
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(request=AskInput, responses={200: ReplyShown, **EVENTS})
    def post(self, request: Request) -> HttpResponseBase:
        form = self.form(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        return _stream(given, route="ask") if given["stream"] else _ask(given)


class AskSelectedView(AskView):
    """Answer a question from a text that comes with it, else from the collection."""

    form = AskSelectedInput

    @extend_schema(request=AskSelectedInput, responses={200: ReplyShown, **EVENTS})
    def post(self, request: Request) -> HttpResponseBase:
        return super().post(request)


class ChatView(APIView):
    """Answer a question as server-sent events: chunk, citation, done, error."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(request=ChatInput, responses=EVENTS)
    def post(self, request: Request) -> HttpResponseBase:
        form = ChatInput(data=request.data)
        form.is_valid(raise_exception=True)
        return _stream(form.validated_data, route="chat")


class ChatEventsView(APIView):
    """The events of a chat again, for 5 minutes after its end, and those still to come."""

    errors: ClassVar[Errors] = {"get": [ChatNotFound]}
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER)],
        responses=EVENTS,
    )
    def get(self, request: Request, chat_id: UUID) -> HttpResponseBase:
        last = request.headers.get("Last-Event-ID", "") or "0"
        if not (last.isascii() and last.isdigit() and len(last) <= MAX_EVENT_ID_DIGITS):
            raise ValidationError({"Last-Event-ID": ["The id of an event of this chat is needed."]})
        with opening_turn():
            check_readable(chat_id)
        return _events(replay_answer(chat_id, after=int(last)), chat_id)


class StoredAnswerView(APIView):
    """An answer as it was given; each citation says whether its quote still stands."""

    errors: ClassVar[Errors] = {"get": [AnswerNotFound]}

    @extend_schema(responses={200: StoredAnswerShown})
    def get(self, request: Request, answer_id: UUID) -> Response:
        answer = Answer.objects.shown().filter(pk=answer_id).first()
        if answer is None:
            raise AnswerNotFound(f"There is no answer {answer_id}.")
        return Response(StoredAnswerShown(answer).data)


class FeedbackView(APIView):
    """Say whether an answer was good."""

    errors: ClassVar[Errors] = {"post": [AnswerNotFound]}

    @extend_schema(request=FeedbackInput, responses={201: FeedbackShown})
    def post(self, request: Request, answer_id: UUID) -> Response:
        form = FeedbackInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = give_feedback(answer_id, **form.validated_data)
        return Response(FeedbackShown(given).data, status=201)


def _ask(given: dict[str, Any]) -> Response:
    Collection.objects.named(given["collection"])
    reply = ask_in_session(
        given["question"],
        session=open_session(given["session_id"]),
        collection=given["collection"],
        selected_text=given["selected_text"],
        context=build_context(),
    )
    return Response(ReplyShown(reply).data)


def _stream(given: dict[str, Any], *, route: str) -> StreamingHttpResponse:
    # The view's thread lives as long as the stream does; its connection does not.
    with opening_turn():
        asked = ChatRequest(
            question=given["question"],
            collection=Collection.objects.named(given["collection"]).name,
            context=build_context(api_key=given.get("api_key", "")),
            context_tokens=given.get("context_window", CONTEXT_TOKENS),
            selected_text=given.get("selected_text", ""),
            route=route,
        )
        stream, _ = open_stream(given["session_id"])
    return _events(stream_answer(asked, stream), stream.pk)


def _events(events: AsyncGenerator[bytes, None], chat_id: UUID) -> StreamingHttpResponse:
    headers = {
        "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Location": f"/chat/{chat_id}",
    }  # fmt: skip
    return StreamingHttpResponse(events, content_type="text/event-stream", headers=headers)
