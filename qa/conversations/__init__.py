"""Conversations that are kept: found, named, deleted, and their answers read again."""

from qa.conversations.examples import suggest_questions
from qa.conversations.kept_sessions import delete_session, find_session, rename_session
from qa.conversations.passages import (
    find_passages,
    place_of_stored,
    pointed_at,
    read_passages,
)

__all__ = [
    "delete_session", "find_passages", "find_session", "place_of_stored", "pointed_at",
    "read_passages", "rename_session", "suggest_questions",
]  # fmt: skip
