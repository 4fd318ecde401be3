"""The record of who did what: written here, read by admins, kept ``PKB_AUDIT_DAYS``.

Where no login is required there is nobody to name: then only logins of the admin and keys are
recorded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from accounts.models import MAX_SUBJECT_CHARS, Event
from corpus.access.principal import current_principal
from corpus.postgres.owner import as_owner

log = structlog.get_logger(__name__)

# The role that serves may delete none; and only in a transaction that says it is the purge does the
# trigger let rows go.
_PURGE = "SELECT set_config('pkb.purges_events', 'on', true)"


def record_event(
    action: str,
    *,
    subject: object = "",
    user_id: int | None = None,
    status: int | None = None,
    address: str = "",
    text: str = "",
) -> None:
    """Note that something was done, or tried.

    Args:
        user_id: By whom; unless given, on whose behalf this is.
        status: Of the reply, where there is one.
    """
    principal = current_principal()
    Event.objects.create(
        action=action,
        subject=str(subject)[:MAX_SUBJECT_CHARS],
        user_id=principal.user_id if user_id is None else user_id,
        key_id=principal.key_id,
        status=status,
        address=address,
        text=text,
    )


def record_action(action: str, *, subject: object, status: int | None = None) -> None:
    """Note what a user did, after it was done; nothing where nobody is known.

    What was done stays done: if it cannot be noted, the log says so.
    """
    if current_principal().user_id is None:
        return
    with _log_failure(action):
        record_event(action, subject=subject, status=status)


def record_question(answer_id: str, *, question: str) -> None:
    """Note that a user asked, in the transaction that keeps the answer."""
    if current_principal().user_id is not None:
        text = question if settings.PKB_AUDIT_QUESTIONS else ""
        record_event("ask", subject=answer_id, text=text)


def purge_events(*, dry_run: bool = False) -> int:
    """Remove what is older than ``PKB_AUDIT_DAYS``; returns how many events that are."""
    old = Event.objects.filter(
        created_at__lt=timezone.now() - timedelta(days=settings.PKB_AUDIT_DAYS)
    )
    if dry_run:
        return old.count()
    with as_owner(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_PURGE)
        count, _ = old.delete()
    return count


@contextmanager
def _log_failure(action: str) -> Iterator[None]:
    try:
        yield
    except DatabaseError as exc:
        log.error("event_not_recorded", action=action, reason=type(exc).__name__)
