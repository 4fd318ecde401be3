"""Name a conversation, or delete it with all that was said in it."""

from uuid import UUID

from django.db import transaction

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import SessionNotFound
from qa.models import Answer, Session


def find_session(session_id: UUID) -> Session:
    """Return a conversation that is kept, with its first question and how many it has.

    Raises:
        SessionNotFound: None of that id is kept.
    """
    session = Session.objects.listed().filter(pk=session_id).first()
    if session is None:
        raise SessionNotFound(f"There is no conversation {session_id}.")
    return session


def rename_session(session_id: UUID, name: str) -> Session:
    """Call a conversation by another name; by its first question if that is empty.

    Raises:
        SessionNotFound: None of that id is kept.
    """
    find_session(session_id)
    Session.objects.filter(pk=session_id).update(name=name)
    return find_session(session_id)


@transaction.atomic
def delete_session(session_id: UUID) -> None:
    """Delete a conversation: its answers with their citations and feedback, its events.

    Raises:
        SessionNotFound: None of that id is kept.
    """
    # Held: what is being said in it is added before, or finds it gone.
    held = Session.objects.filter(pk=session_id, is_kept=True).select_for_update().first()
    if held is None:
        raise SessionNotFound(f"There is no conversation {session_id}.")
    # Those of collections, too, that are no more shown to who asked.
    with acting_as(SYSTEM):
        Answer.objects.filter(message__session=held).delete()
        held.delete()
