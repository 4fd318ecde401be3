"""Answer the last question of a chat request, with its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from corpus.embedders import get_embedder
from corpus.errors import CollectionNotFound, ModelNotFound
from corpus.models import Collection
from qa.answer_question import answer_question
from qa.answer_record import new_answer_record
from qa.api.openai.chat_serializers import MAX_QUESTION_CHARS
from qa.api.openai.reply_text import AnnotatedText, Cited, annotate
from qa.context import build_context
from qa.intent import complete_follow_up
from qa.notices import is_notice
from qa.sessions import CONTEXT_MESSAGES, CONTEXT_TOKENS, trim_history
from qa.types import Exchange

PREFIX = "pkb/"

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reply:
    """The annotated text of an answer, and its token counts."""

    answer_id: str
    parts: tuple[AnnotatedText, ...]
    prompt_tokens: int
    completion_tokens: int

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def cited(self) -> tuple[Cited, ...]:
        return tuple(part.cited for part in self.parts if part.cited)


def find_collection(model: str) -> Collection:
    """Return the collection that is offered as ``model``.

    Raises:
        ModelNotFound: There is no collection of this name.
    """
    name = model.removeprefix(PREFIX)
    try:
        return Collection.objects.get_named(name if model != name else "")
    except CollectionNotFound as exc:
        message = f"There is no model {model!r}; /v1/models lists what there is."
        raise ModelNotFound(message) from exc


def answer_messages(messages: Messages, *, collection: Collection, route: str) -> Reply:
    """Answer the last question; tokens are counted by the embedding model's tokenizer.

    Args:
        route: The endpoint's name in metrics.

    Raises:
        BackendError: A model failed and there is no fallback.
    """
    question = find_question(messages)
    answered = answer_question(
        question,
        collection=collection.qualified_name,
        k=settings.PKB_RETRIEVAL_K,
        context=build_context(),
        route=route,
        history=read_history(messages),
    )
    parts = tuple(annotate(new_answer_record(answered)))
    said = "".join(part.text for part in parts)
    prompt, completion = get_embedder(collection.embedding_model).count_tokens([question, said])
    return Reply(answered.id, parts, prompt, completion)


def find_question(messages: Messages) -> str:
    """Return the last user message."""
    return str(messages[_last_asked(messages)]["content"])


def read_history(messages: Messages) -> list[Exchange]:
    """Return the last exchanges before the question, oldest first."""
    exchanges: list[Exchange] = []
    for question, answer in _pairs(messages[: _last_asked(messages)]):
        searched = complete_follow_up(question, exchanges)
        exchanges.append(Exchange(question, searched, answer))
    latest_first = list(reversed(exchanges[-CONTEXT_MESSAGES:]))
    return list(reversed(trim_history(latest_first, CONTEXT_TOKENS)))


def _last_asked(messages: Messages) -> int:
    return max(at for at, message in enumerate(messages) if message["role"] == "user")


def _pairs(messages: Messages) -> list[tuple[str, str]]:
    """Return each user message that may be a question, with the start of its reply."""
    pairs: list[tuple[str, str]] = []
    for message in messages:
        content = (message.get("content") or "").strip()
        if message["role"] == "user" and 0 < len(content) <= MAX_QUESTION_CHARS:
            pairs.append((content, ""))
        elif message["role"] == "assistant" and pairs and not is_notice(content):
            pairs[-1] = (pairs[-1][0], content[:MAX_QUESTION_CHARS])
    return pairs
