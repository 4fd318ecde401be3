"""What a conversation asks, and what was said in it before."""

from collections.abc import Mapping, Sequence
from typing import Any

from qa.conversing import CONTEXT_MESSAGES, CONTEXT_TOKENS, keep_within
from qa.follow_ups import complete_follow_up
from qa.openai.rendering import ABSTENTION
from qa.openai.serializers import MAX_QUESTION_CHARS
from qa.types import Exchange

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
    latest = exchanges[: -CONTEXT_MESSAGES - 1 : -1]
    return list(reversed(keep_within(latest, CONTEXT_TOKENS)))


def _last_asked(messages: Messages) -> int:
    return max(at for at, message in enumerate(messages) if message["role"] == "user")


def _pairs(messages: Messages) -> list[tuple[str, str]]:
    """Each user message that may be a question, with the beginning of what was answered to it."""
    pairs: list[tuple[str, str]] = []
    for message in messages:
        content = (message.get("content") or "").strip()
        if message["role"] == "user" and 0 < len(content) <= MAX_QUESTION_CHARS:
            pairs.append((content, ""))
        elif message["role"] == "assistant" and pairs and content != ABSTENTION:
            pairs[-1] = (pairs[-1][0], content[:MAX_QUESTION_CHARS])
    return pairs
