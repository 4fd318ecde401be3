"""Saved conversations: find, rename and delete them; suggest questions to begin one."""

from qa.conversations.examples import suggest_questions
from qa.conversations.saved_sessions import delete_session, find_session, rename_session

__all__ = ["delete_session", "find_session", "rename_session", "suggest_questions"]
