"""Endpoints that answer within a conversation."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope, bind_principal
from corpus.api.fields import (
    AskedNameField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    TagListField,
    read_input,
)
from corpus.endpoints import EXAMPLE_QUESTION, EXAMPLE_TEXT, Cost, Endpoint, endpoint
from corpus.errors import ChatNotFound, CollectionNotFound, DocumentNotFound, Errors
from corpus.models import DEFAULT_COLLECTION
from qa.answer_question import find_asked
from qa.answer_record import AnswerShown, new_answer_record
from qa.api.chat_events import read_events, write_answer_events
from qa.api.chat_stream import EVENT_STREAM, replay_answer, respond_with_events, stream_answer
from qa.concurrency import Listener, opening_slot
from qa.context import build_context
from qa.models import ChatStream
from qa.sessions import (
    CONTEXT_TOKENS,
    Reply,
    ask_in_session,
    continues_session,
    open_session,
)
from qa.types import Passage

# Characters of a question, of the first one of a session, and of a selected text; tokens of the
# history.
MAX_QUESTION_CHARS = 2_000
MIN_FIRST_QUESTION_CHARS = 5
MAX_SELECTED_CHARS = 5_000
MAX_CONTEXT_TOKENS = 100_000
# Sources per reply, and characters per source: the citations have the rest.
MAX_SOURCES = 5
SOURCE_CHARS = 200


class StrictUuidField(serializers.UUIDField):
    """A UUID given as a JSON string; DRF's field accepts numbers, too."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


# What /ask and /chat share.
class QuestionInput(serializers.Serializer[Any]):
    question = StrictCharField(max_length=MAX_QUESTION_CHARS)
    session_id = StrictUuidField(default=None, allow_null=True)
    collection = AskedNameField(default=DEFAULT_COLLECTION, help_text="`*` asks all collections")
    document_id = StrictUuidField(
        default=None,
        allow_null=True,
        help_text="answer only from this document, whatever its collection",
    )
    selected_text = StrictCharField(
        max_length=MAX_SELECTED_CHARS, trim_whitespace=False, allow_blank=True, default=""
    )


class AskInput(QuestionInput):
    question = StrictCharField(
        max_length=MAX_QUESTION_CHARS,
        help_text=f"at least {MIN_FIRST_QUESTION_CHARS} characters; a follow-up may be shorter",
    )
    stream = StrictBooleanField(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        is_short = len(attrs["question"]) < MIN_FIRST_QUESTION_CHARS
        if is_short and not continues_session(attrs["session_id"]):
            reason = f"A first question needs at least {MIN_FIRST_QUESTION_CHARS} characters."
            raise ValidationError({"question": [reason]})
        return attrs


class AskSelectedInput(AskInput):
    selected_text = StrictCharField(max_length=MAX_SELECTED_CHARS, trim_whitespace=False)


class ChatInput(QuestionInput):
    api_key = StrictCharField(
        max_length=1_000, default="", allow_blank=True, write_only=True,
        help_text="API key for the language model of this request; never stored or logged",
    )  # fmt: skip
    context_window = StrictIntegerField(
        min_value=0, max_value=MAX_CONTEXT_TOKENS, default=CONTEXT_TOKENS,
        help_text="maximum tokens of the chat history to read the question with",
    )  # fmt: skip
    tags = TagListField(
        default=tuple, help_text="answer only from documents with any of these tags"
    )
    keep = StrictBooleanField(
        default=False, help_text="save the chat: it is listed and does not expire"
    )
    steps = StrictBooleanField(
        default=False, help_text="send an event of type `step` when each step begins"
    )


class Source(serializers.Serializer[Any]):
    file = serializers.SerializerMethodField()
    section = serializers.SerializerMethodField()
    chunk = serializers.SerializerMethodField()
    similarity = serializers.FloatField(min_value=0, max_value=1)

    def get_file(self, passage: Passage) -> str:
        if passage.is_selected:
            return "selected text"
        return passage.source_uri.rstrip("/").rsplit("/", 1)[-1] or passage.name

    def get_section(self, passage: Passage) -> str | None:
        return " > ".join(passage.heading_path) or None

    def get_chunk(self, passage: Passage) -> str:
        return passage.text[:SOURCE_CHARS]


class ReplyShown(AnswerShown):
    """The answer object of a session, with the passages that it cites."""

    sources = Source(many=True)
    session_id = serializers.UUIDField()
    timestamp = serializers.DateTimeField()
    latency_ms = serializers.IntegerField()

    def to_representation(self, instance: Reply) -> dict[str, Any]:
        # Each cited passage once, the most similar first.
        cited = {c.passage.chunk_id: c.passage for c in instance.answered.answer.citations}
        passages = sorted(cited.values(), key=lambda passage: -passage.similarity)
        return {
            **AnswerShown(new_answer_record(instance.answered)).data,
            "sources": Source(passages[:MAX_SOURCES], many=True).data,
            "session_id": str(instance.session_id),
            "timestamp": instance.timestamp.isoformat(),
            "latency_ms": instance.latency_ms,
        }


# A longer Last-Event-ID does not fit the database column.
MAX_EVENT_ID_DIGITS = 9
EVENT = {
    "type": "object",
    "description": "One event; data is JSON: {type, content, citation}, and answer on done.",
    "required": ["data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": ["step", "chunk", "citation", "done", "error"]},
        "data": {"type": "string"},
    },
}
EVENTS = {(200, EVENT_STREAM): EVENT}


class EventStreamRenderer(JSONRenderer):
    """Accepts requests for event streams; errors are rendered as JSON."""

    media_type = EVENT_STREAM
    format = "events"


@endpoint(
    POST=Endpoint(
        "ask",
        tag="Ask",
        summary="Ask within a session",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={"question": EXAMPLE_QUESTION},
    )
)
class AskView(APIView):
    """Answer a question within a session; with ``stream``, as events like /chat."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound, DocumentNotFound]}
    form = AskInput
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(request=AskInput, responses={200: ReplyShown, **EVENTS})
    def post(self, request: Request) -> HttpResponseBase:
        fields = read_input(self.form, request.data)
        if fields["stream"]:
            return _stream(fields, route="ask")
        find_asked(fields["collection"], fields["document_id"])
        reply = ask_in_session(
            fields["question"],
            session=open_session(fields["session_id"]),
            collection=fields["collection"],
            document_id=fields["document_id"],
            selected_text=fields["selected_text"],
            context=build_context(),
        )
        return Response(ReplyShown(reply).data)


@endpoint(
    POST=Endpoint(
        "ask_selected",
        tag="Ask",
        summary="Ask about a selected text",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={"question": "Who built the lighthouse?", "selected_text": EXAMPLE_TEXT},
    )
)
@extend_schema_view(post=extend_schema(request=AskSelectedInput))
class AskSelectedView(AskView):
    """Answer a question from the text sent with it, else from the collection."""

    form = AskSelectedInput


@endpoint(
    POST=Endpoint(
        "chat",
        tag="Ask",
        summary="Ask and stream the verified answer",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={"question": EXAMPLE_QUESTION},
    )
)
class ChatView(APIView):
    """Answer a question as server-sent events: chunk, citation, done, error."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound, DocumentNotFound]}
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(request=ChatInput, responses=EVENTS)
    def post(self, request: Request) -> HttpResponseBase:
        return _stream(read_input(ChatInput, request.data), route="chat")


@endpoint(
    GET=Endpoint(
        "resume_chat", tag="Ask", summary="Resume the event stream of an answer", cost=Cost.REPLAY
    )
)
class ChatEventsView(APIView):
    """Replay the events of a chat until 5 minutes after its end, and follow new ones."""

    errors: ClassVar[Errors] = {"get": [ChatNotFound]}
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER)],
        responses=EVENTS,
    )
    def get(self, request: Request, chat_id: UUID) -> HttpResponseBase:
        last = request.headers.get("Last-Event-ID", "") or "0"
        if not (last.isascii() and last.isdigit() and len(last) <= MAX_EVENT_ID_DIGITS):
            raise ValidationError({"Last-Event-ID": ["Must be the id of an event of this stream."]})
        with opening_slot():
            if not ChatStream.objects.readable().filter(pk=chat_id).exists():
                raise ChatNotFound(f"There is no stream {chat_id}, or it has expired.")
        events = replay_answer(bind_principal(partial(read_events, chat_id)), after=int(last))
        return respond_with_events(events, Location=f"/chat/{chat_id}")


def _stream(fields: dict[str, Any], *, route: str) -> StreamingHttpResponse:
    # The view's thread lives as long as the stream; its database connection does not.
    with opening_slot():
        find_asked(fields["collection"], fields["document_id"])
        tags = fields.get("tags", ())
        context = build_context(api_key=fields.get("api_key", ""))
        session = open_session(fields["session_id"], keep=fields.get("keep", False))
        stream = ChatStream.objects.create(session=session)

    def ask(listener: Listener) -> Reply:
        return ask_in_session(
            fields["question"],
            session=session,
            collection=fields["collection"],
            document_id=fields["document_id"],
            context=replace(context, listener=listener),
            context_tokens=fields.get("context_window", CONTEXT_TOKENS),
            selected_text=fields["selected_text"],
            tags=tags,
            route=route,
        )

    includes_steps = fields.get("steps", False)
    answer = bind_principal(partial(write_answer_events, ask))
    events = stream_answer(answer, stream, includes_steps=includes_steps)
    return respond_with_events(events, Location=f"/chat/{stream.pk}")
