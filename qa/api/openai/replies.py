"""Replies to the last question of a conversation: an answer's text with citation markers."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import time
from typing import Any, ClassVar
from uuid import uuid4

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import bind_principal
from corpus.api.fields import read_input
from corpus.embedders import get_embedder
from corpus.errors import Errors, ModelNotFound
from corpus.models import Collection
from corpus.roots.shown_paths import short_place
from qa.answer_question import answer_question
from qa.answer_record import AnswerRecord, QuoteRecord, new_answer_record, public_url
from qa.api.chat_stream import EVENT_STREAM, respond_with_events
from qa.api.openai.base_view import OpenAIView
from qa.api.openai.fields import MAX_QUESTION_CHARS
from qa.api.openai.served_models import find_collection
from qa.context import build_context
from qa.grounding.disagreement import describe_disagreement
from qa.intent import complete_follow_up
from qa.notices import SOURCES, UNANSWERED, UNSURE, is_notice
from qa.sessions import trim_history
from qa.types import Exchange

Messages = Sequence[Mapping[str, Any]]

# One event, as JSON Schema: its data is JSON.
EVENT = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
EVENTS = {(200, EVENT_STREAM): EVENT}


class CitedSpanShown(serializers.Serializer[Any]):
    """A span of a reply's text that a quote supports."""

    file_id = serializers.UUIDField(source="quote.document_id", help_text="the document's id")
    quote = serializers.CharField(source="quote.quote", help_text="exact quote from the document")
    start_index = serializers.IntegerField(
        source="start", help_text="start of the supported or quoted part in the text"
    )
    end_index = serializers.IntegerField(source="end")


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """The slice ``start:end`` of a reply's text and the quote that supports it."""

    quote: QuoteRecord
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """A piece of a reply's text that ends with its cited part, if any."""

    text: str
    citation: CitedSpan | None = None


@dataclass(frozen=True, slots=True)
class AnnotatedReply:
    """The annotated text of an answer, and its token counts."""

    answer_id: str
    parts: tuple[ReplyPart, ...]
    prompt_tokens: int
    completion_tokens: int

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def citations(self) -> list[CitedSpan]:
        return [part.citation for part in self.parts if part.citation]


@dataclass(frozen=True)
class ReplyFormat(ABC):
    """Formats one reply; the attributes are what all its parts share.

    Attributes:
        key: Of the reply: its id without the prefix.
        model: As the request names it.
        created: Unix time in seconds.
    """

    key: str
    model: str
    created: int = field(default_factory=lambda: int(time()))

    @abstractmethod
    def whole(self, reply: AnnotatedReply) -> dict[str, Any]:
        """Return the body of the complete reply."""

    @abstractmethod
    def stream(
        self, answer: Callable[[], AnnotatedReply], fields: Mapping[str, Any]
    ) -> AsyncIterator[bytes]:
        """Yield the events of a reply; no text is sent before all of it is verified."""


class ReplyView(OpenAIView):
    """Answers the last question from the collection that the model names.

    Attributes:
        form: Its fields are ``model``, ``messages`` and ``stream``, besides others.
        route: The endpoint's name in metrics.
    """

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}
    form: type[serializers.Serializer[Any]]
    format: type[ReplyFormat]
    route: str

    def post(self, request: Request) -> HttpResponseBase:
        fields = read_input(self.form, request.data)
        model, collection = fields["model"], find_collection(fields["model"])
        answer = bind_principal(
            partial(answer_messages, fields["messages"], collection=collection, route=self.route)
        )
        if fields["stream"]:
            return respond_with_events(self.format(uuid4().hex, model).stream(answer, fields))
        reply = answer()
        return Response(self.format(reply.answer_id, model).whole(reply))


def answer_messages(messages: Messages, *, collection: Collection, route: str) -> AnnotatedReply:
    """Answer the last question; tokens are counted by the embedding model's tokenizer.

    Args:
        route: The endpoint's name in metrics.

    Raises:
        BackendError: A model failed and there is no fallback.
    """
    question, history = read_conversation(messages)
    answered = answer_question(
        question,
        collection=collection.qualified_name,
        k=settings.PKB_RETRIEVAL_K,
        context=build_context(),
        route=route,
        history=history,
    )
    parts = tuple(annotate(new_answer_record(answered)))
    text = "".join(part.text for part in parts)
    prompt, completion = get_embedder(collection.embedding_model).count_tokens([question, text])
    return AnnotatedReply(answered.id, parts, prompt, completion)


def read_conversation(messages: Messages) -> tuple[str, list[Exchange]]:
    """Return the last user message, and the last exchanges before it, oldest first."""
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    pairs: list[tuple[str, str]] = []
    for message in messages[:last]:
        content = (message.get("content") or "").strip()
        if message["role"] == "user" and 0 < len(content) <= MAX_QUESTION_CHARS:
            pairs.append((content, ""))
        elif message["role"] == "assistant" and pairs and not is_notice(content):
            text, _, _ = content.partition(f"\n\n{SOURCES}\n")
            pairs[-1] = (pairs[-1][0], text[:MAX_QUESTION_CHARS])
    exchanges: list[Exchange] = []
    for question, answer in pairs:
        exchanges.append(Exchange(question, complete_follow_up(question, exchanges), answer))
    return str(messages[last]["content"]), trim_history(exchanges)


def annotate(answer: AnswerRecord) -> list[ReplyPart]:
    """Split the answer after each cited part and add a marker there: ``[1]`` is the first.

    Quotes of disagreeing documents follow the answer. Without an answer, the closest passages are
    quoted, if there are any. The sources of all markers are listed at the end.
    """
    # OpenAI's format has no abstention: it is put in words, which the history recognizes.
    if answer.kind == "unsure":
        return [
            *_list_quotes(UNSURE, answer.closest, is_whole=True), *_list_sources(answer.closest)
        ]  # fmt: skip
    parts = list(_mark_citations(answer))
    if answer.notice is not None:
        parts.append(ReplyPart(f"\n\n{answer.notice}" if parts else answer.notice))
    parts += [ReplyPart(f"\n\n{UNANSWERED} {part}") for part in answer.unanswered]
    if answer.disagreement:
        lead = describe_disagreement(citation.document_date or "" for citation in answer.citations)
        parts += _list_quotes(
            f"\n\n{lead}",
            answer.disagreement,
            is_whole=False,
            at=sum(len(part.text) for part in parts),
            first=len(answer.citations) + 1,
        )
    return [*parts, *_list_sources([*_in_order(answer), *answer.disagreement])]


def _in_order(answer: AnswerRecord) -> list[QuoteRecord]:
    """Return the citations in the order of their markers."""
    return sorted(answer.citations, key=lambda citation: citation.answer_end)


def _list_sources(quotes: Sequence[QuoteRecord]) -> Iterator[ReplyPart]:
    """List the documents of numbered quotes: name, file, page and address."""
    lines = []
    for number, quote in enumerate(quotes, start=1):
        url, page = "", quote.page_range.page
        if quote.document_id:
            url = public_url(quote.source_uri, quote.document_id)
        place = "" if url == quote.source_uri else short_place(quote.source_uri)
        parts = (quote.name, place, f"page {page}" if page else "", url)
        lines.append(f"- [{number}] {', '.join(dict.fromkeys(filter(None, parts)))}")
    if lines:
        yield ReplyPart("\n".join([f"\n\n{SOURCES}", *lines]))


def _mark_citations(answer: AnswerRecord) -> Iterator[ReplyPart]:
    citations = _in_order(answer)
    markers = [f" [{number}]" for number in range(1, len(citations) + 1)]
    at = 0
    for citation, marker in zip(citations, markers, strict=True):
        # Shift the cited part by the markers before it.
        start = citation.answer_start + sum(
            len(earlier)
            for other, earlier in zip(citations, markers, strict=True)
            if other.answer_end <= citation.answer_start
        )
        end = start + citation.answer_end - citation.answer_start
        text = answer.text[at : citation.answer_end] + marker
        yield ReplyPart(text, CitedSpan(citation, start, end))
        at = citation.answer_end
    if rest := answer.text[at:]:
        yield ReplyPart(rest)


def _list_quotes(
    lead: str, quotes: Sequence[QuoteRecord], *, is_whole: bool, at: int = 0, first: int = 1
) -> Iterator[ReplyPart]:
    """Quote after ``lead``: whole passages in paragraphs, or spans with their dates in lines.

    Args:
        at: Where the lead starts in the reply.
        first: The number of the first quote.
    """
    yield ReplyPart(lead)
    at += len(lead)
    for number, quote in enumerate(quotes, start=first):
        gap, text, note = "\n", quote.quote, ""
        if is_whole:
            gap, text = "\n\n", quote.whole_text
        elif quote.document_date:
            note = f" ({quote.document_date})"
        start = at + len(gap)
        part = f"{gap}{text} [{number}]{note}"
        yield ReplyPart(part, CitedSpan(quote, start, start + len(text)))
        at += len(part)
