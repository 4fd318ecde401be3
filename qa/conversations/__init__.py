"""Saved conversations: find, rename and delete them, and read their answers' passages."""

from qa.conversations.examples import suggest_questions
from qa.conversations.passages import (
    find_passages,
    page_range_of_citation,
    read_passages,
    uncited_spans,
)
from qa.conversations.saved_sessions import delete_session, find_session, rename_session

__all__ = [
    "delete_session",
    "find_passages",
    "find_session",
    "page_range_of_citation",
    "read_passages",
    "rename_session",
    "suggest_questions",
    "uncited_spans",
]  # fmt: skip
