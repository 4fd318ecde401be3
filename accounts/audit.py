"""The audit log: events for administrators, stored for ``PKB_AUDIT_DAYS``.

If no login is required, only logins to the admin and changes of API keys are recorded.
"""

from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.signals import user_logged_out
from django.db import DatabaseError, connection, transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from accounts.client_ip import client_ip
from accounts.models import MAX_SUBJECT_CHARS, Event
from corpus.access.principal import current_principal
from corpus.postgres import as_owner

log = structlog.get_logger(__name__)

# The application role may not delete events. A trigger allows the owner to, if this is set.
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
    """Record an event.

    Args:
        user_id: The acting user; default: the current principal.
        status: HTTP status of the response, if there is one.
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
    """Record an action of the current user, if there is one.

    The action is done already: if recording fails, log an error.
    """
    if current_principal().user_id is None:
        return
    try:
        record_event(action, subject=subject, status=status)
    except DatabaseError as exc:
        log.error("event_not_recorded", action=action, reason=type(exc).__name__)


@receiver(user_logged_out)
def record_logout(request: HttpRequest, user: Any, **kwargs: Any) -> None:
    if user is not None:
        record_event("log_out", user_id=user.pk, address=client_ip(request))


def purge_events(*, dry_run: bool = False) -> int:
    """Delete events older than ``PKB_AUDIT_DAYS``, and return their number."""
    old = Event.objects.filter(
        created_at__lt=timezone.now() - timedelta(days=settings.PKB_AUDIT_DAYS)
    )
    if dry_run:
        return old.count()
    with as_owner(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_PURGE)
        count, _ = old.delete()
    return count
