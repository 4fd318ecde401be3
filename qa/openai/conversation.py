"""What a conversation asks."""

from collections.abc import Mapping, Sequence
from typing import Any


def find_question(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return what the conversation asks: its last user message.

    The one place where earlier messages can make a follow-up a question of its own.
    """
    asked = [message["content"] for message in messages if message["role"] == "user"]
    return str(asked[-1])
