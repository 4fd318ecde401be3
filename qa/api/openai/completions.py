"""Answer a conversation in OpenAI's shape: read it, answer it, give it whole or as events."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from corpus.embedders import get_embedder
from corpus.errors import CollectionNotFound, ModelNotFound, PkbError
from corpus.models import Collection
from qa.answer_question import answer_question
from qa.api.openai.errors import openai_error
from qa.api.openai.serializers import MAX_QUESTION_CHARS
from qa.context import build_context
from qa.questions import ABSTENTION, GREETING, complete_follow_up, tell_abstention
from qa.sessions import CONTEXT_MESSAGES, CONTEXT_TOKENS, keep_within
from qa.types import Answer, Citation, ClosePassage, Exchange

# OpenAI's shape has no abstention: it is said in words, which are known again in a history.
# Begins a reply that claims nothing, either: the closest passages follow.
UNSURE = "I am not sure. The closest passages are:"
# Stands behind an answer to some parts of a question, before a part that has none.
UNANSWERED = "Not answered by the documents:"
# Stands behind an answer; what other documents say follows.
DISAGREEMENT = "Your documents disagree:"
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A stretch of the text; its annotation is about what it ends with."""

    text: str
    annotation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What the parts of one reply have in common.

    Attributes:
        created: Seconds since 1970.
        model: As the request names it.
    """

    id: str
    created: int
    model: str

    def whole(self, parts: Sequence[AnnotatedText], usage: dict[str, int]) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": "".join(part.text for part in parts),
            "refusal": None,
            "annotations": [part.annotation for part in parts if part.annotation],
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage}

    def chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return as_event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def usage_chunk(self, usage: dict[str, int]) -> bytes:
        head = self._head("chat.completion.chunk")
        return as_event({**head, "choices": [], "usage": usage})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def as_event(body: dict[str, Any]) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def annotate(answer: Answer) -> list[AnnotatedText]:
    """Cut the answer after each cited part and set the marker there: ``[1]`` is the first.

    What other documents say otherwise is quoted behind it; without an answer the closest passages
    are, where there are any.
    """
    if answer.kind == "answer":
        said = [*_cut(answer), *map(AnnotatedText, _tell_unanswered(answer))]
        return [*said, *_add_disagreement(answer, said)]
    if answer.is_unsure:
        return list(_list_quotes(UNSURE, answer.closest))
    return [AnnotatedText(tell_abstention(answer.question))]


def part_deltas(parts: Sequence[AnnotatedText]) -> Iterator[dict[str, Any]]:
    """What a stream says of each part."""
    for part in parts:
        annotated = {"annotations": [part.annotation]} if part.annotation else {}
        yield {"content": part.text, **annotated}


def _cut(answer: Answer) -> Iterator[AnnotatedText]:
    ordered = sorted(answer.citations, key=lambda citation: citation.answer_end)
    markers = [f" [{number}]" for number in range(1, len(ordered) + 1)]
    at = 0
    for citation, marker in zip(ordered, markers, strict=True):
        # Markers that stand before the cited part move it.
        start = citation.answer_start + sum(
            len(earlier)
            for other, earlier in zip(ordered, markers, strict=True)
            if other.answer_end <= citation.answer_start
        )
        end = start + citation.answer_end - citation.answer_start
        text = answer.text[at : citation.answer_end] + marker
        yield AnnotatedText(text, _annotation(citation, start=start, end=end))
        at = citation.answer_end
    if rest := answer.text[at:]:
        yield AnnotatedText(rest)


def _tell_unanswered(answer: Answer) -> Iterator[str]:
    for part in answer.unanswered:
        yield f"\n\n{UNANSWERED} {part}"


def _add_disagreement(answer: Answer, said: Sequence[AnnotatedText]) -> Iterator[AnnotatedText]:
    if answer.disagreement:
        at = sum(len(part.text) for part in said)
        first = len(answer.citations) + 1
        yield from _list_quotes(f"\n\n{DISAGREEMENT}", answer.disagreement, at=at, first=first)


def _list_quotes(
    lead: str, quoted: Sequence[ClosePassage], *, at: int = 0, first: int = 1
) -> Iterator[AnnotatedText]:
    """Quote passages, a line each, behind a lead that stands at this place of the reply."""
    yield AnnotatedText(lead)
    at += len(lead)
    for number, close in enumerate(quoted, start=first):
        text = f"\n{close.quote} [{number}]"
        start = at + len("\n")
        yield AnnotatedText(text, _annotation(close, start=start, end=start + len(close.quote)))
        at += len(text)


def _annotation(quoted: Citation | ClosePassage, *, start: int, end: int) -> dict[str, Any]:
    return {
        "type": "file_citation",
        "file_citation": {
            "file_id": quoted.passage.document_id,
            "filename": quoted.passage.name,
            "quote": quoted.quote,
            "start_index": start,
            "end_index": end,
        },
    }


Messages = Sequence[Mapping[str, Any]]


def find_question(messages: Messages) -> str:
    """Return what the conversation asks: its last user message."""
    return str(messages[_last_asked(messages)]["content"])


def read_history(messages: Messages) -> list[Exchange]:
    """Return the last exchanges before the question, oldest first, as a session has them."""
    exchanges: list[Exchange] = []
    for question, answer in _pairs(messages[: _last_asked(messages)]):
        searched = complete_follow_up(question, exchanges)
        exchanges.append(Exchange(question, searched, answer))
    latest_first = list(reversed(exchanges[-CONTEXT_MESSAGES:]))
    return list(reversed(keep_within(latest_first, CONTEXT_TOKENS)))


def _last_asked(messages: Messages) -> int:
    return max(at for at, message in enumerate(messages) if message["role"] == "user")


def _pairs(messages: Messages) -> list[tuple[str, str]]:
    """Each user message that may be a question, with the beginning of what was answered to it."""
    pairs: list[tuple[str, str]] = []
    for message in messages:
        content = (message.get("content") or "").strip()
        if message["role"] == "user" and 0 < len(content) <= MAX_QUESTION_CHARS:
            pairs.append((content, ""))
        elif message["role"] == "assistant" and pairs and not _claims_nothing(content):
            pairs[-1] = (pairs[-1][0], content[:MAX_QUESTION_CHARS])
    return pairs


def _claims_nothing(reply: str) -> bool:
    return reply in {ABSTENTION, GREETING} or reply.startswith(UNSURE)


PREFIX = "pkb/"
ROUTE = "chat_completions"


@dataclass(frozen=True, slots=True)
class CompletedChat:
    """What there is to say, and the tokens it took."""

    answer_id: str
    parts: tuple[AnnotatedText, ...]
    usage: dict[str, int]


def find_collection(model: str) -> Collection:
    """Return the collection that is offered as ``model``.

    Raises:
        ModelNotFound: None is.
    """
    name = model.removeprefix(PREFIX)
    try:
        return Collection.objects.named(name if model != name else "")
    except CollectionNotFound as exc:
        message = f"There is no model {model!r}; /v1/models lists what there is."
        raise ModelNotFound(message) from exc


def complete_chat(messages: Messages, *, collection: Collection) -> CompletedChat:
    """Answer a conversation's question; tokens are counted as the embedding model has them.

    Raises:
        BackendError: A model failed and nothing stands in for it.
    """
    question = find_question(messages)
    answered = answer_question(
        question,
        collection=collection.name,
        k=settings.PKB_RETRIEVAL_K,
        context=build_context(),
        route=ROUTE,
        history=read_history(messages),
    )
    parts = tuple(annotate(answered.answer))
    said = "".join(part.text for part in parts)
    prompt, completion = get_embedder(collection.embedding_model).count_tokens([question, said])
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return CompletedChat(answered.id, parts, usage)


def begin_completion(answer_id: str, *, model: str) -> Completion:
    return Completion(f"chatcmpl-{answer_id}", int(time()), model)


async def stream_completion(
    answer: Callable[[], CompletedChat], *, completion: Completion, with_usage: bool
) -> AsyncIterator[bytes]:
    """Yield the events of a reply: nothing of the text is said before all of it is proved."""
    yield completion.chunk({"role": "assistant", "content": ""})
    try:
        chat = await sync_to_async(answer)()
    except PkbError as exc:
        problem = {"status": exc.status, "detail": str(exc) or exc.title, "error": exc.code}
        yield as_event(openai_error(problem))
        return
    for delta in part_deltas(chat.parts):
        yield completion.chunk(delta)
    yield completion.chunk({}, finish_reason="stop")
    if with_usage:
        yield completion.usage_chunk(chat.usage)
    yield DONE
