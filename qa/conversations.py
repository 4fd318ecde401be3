"""Saved conversations: find, rename and delete them."""

from uuid import UUID

from django.db import transaction

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import SessionNotFound
from qa.models import Answer, Session


def find_session(session_id: UUID) -> Session:
    """Return a saved conversation with its first question and question count.

    Raises:
        SessionNotFound: There is no such saved conversation.
    """
    session = Session.objects.listed().filter(pk=session_id).first()
    if session is None:
        raise SessionNotFound(f"There is no chat {session_id}.")
    return session


def rename_session(session_id: UUID, name: str) -> Session:
    """Rename a conversation; an empty name shows its first question instead.

    Raises:
        SessionNotFound: There is no such saved conversation.
    """
    find_session(session_id)
    Session.objects.filter(pk=session_id).update(name=name)
    return find_session(session_id)


@transaction.atomic
def delete_session(session_id: UUID) -> None:
    """Delete a conversation with its answers, citations, feedback and events.

    Raises:
        SessionNotFound: There is no such saved conversation.
    """
    # Locked: a running answer is added before, or finds it deleted.
    session = Session.objects.filter(pk=session_id, is_kept=True).select_for_update().first()
    if session is None:
        raise SessionNotFound(f"There is no chat {session_id}.")
    # Also answers from collections that the user can no longer read.
    with acting_as(SYSTEM):
        Answer.objects.filter(message__session=session).delete()
        session.delete()
