"""What /ask, /ask-selected and /chat take and give."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from corpus.fields import CollectionName, Text, Truth, Whole
from corpus.models import DEFAULT_COLLECTION
from qa.conversing import CONTEXT_TOKENS, Reply
from qa.serializers import AnswerShown
from qa.types import Passage

MAX_QUESTION_CHARS = 2_000
MAX_SELECTED_CHARS = 5_000
MAX_CONTEXT_TOKENS = 100_000
MAX_SOURCES = 5
SOURCE_CHARS = 200


class SessionId(serializers.UUIDField):
    """A UUID as a JSON string; DRF's own takes numbers too."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class AskInput(serializers.Serializer[Any]):
    question = Text(min_length=5, max_length=MAX_QUESTION_CHARS)
    session_id = SessionId(default=None, allow_null=True)
    collection = CollectionName(default=DEFAULT_COLLECTION)
    selected_text = Text(
        max_length=MAX_SELECTED_CHARS, trim_whitespace=False, allow_blank=True, default=""
    )
    stream = Truth(default=False)


class AskSelectedInput(AskInput):
    selected_text = Text(max_length=MAX_SELECTED_CHARS, trim_whitespace=False)


class ChatInput(serializers.Serializer[Any]):
    question = Text(max_length=MAX_QUESTION_CHARS)
    session_id = SessionId(default=None, allow_null=True)
    collection = CollectionName(default=DEFAULT_COLLECTION)
    api_key = Text(
        max_length=1_000, default="", allow_blank=True, write_only=True,
        help_text="for the language model of this request; never kept or logged",
    )  # fmt: skip
    context_window = Whole(
        min_value=0, max_value=MAX_CONTEXT_TOKENS, default=CONTEXT_TOKENS,
        help_text="most tokens of the conversation that the question is read with",
    )  # fmt: skip


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
    """The answer object within a session, with the passages that it cites."""

    sources = Source(many=True)
    session_id = serializers.UUIDField()
    timestamp = serializers.DateTimeField()
    latency_ms = serializers.IntegerField()

    def to_representation(self, instance: Reply) -> dict[str, Any]:
        shown = dict(AnswerShown(instance.asked).data)
        return shown | {
            "sources": Source(_sources(instance), many=True).data,
            "session_id": str(instance.session_id),
            "timestamp": instance.timestamp.isoformat(),
            "latency_ms": instance.latency_ms,
        }


def _sources(reply: Reply) -> list[Passage]:
    """The cited passages, each once, most similar first."""
    cited = {c.passage.chunk_id: c.passage for c in reply.asked.answer.citations}
    return sorted(cited.values(), key=lambda passage: -passage.similarity)[:MAX_SOURCES]
