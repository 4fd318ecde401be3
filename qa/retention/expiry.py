"""Delete expired data: sessions, streams, old answers, tombstones and logins."""

from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.models import Session as LoginSession
from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts.audit import purge_events
from accounts.lockouts import purge_logins
from corpus.ingestion.uploaded_files import delete_orphaned_uploads
from corpus.models import Tombstone
from qa import models
from qa.models import ChatStream, Session

# Rows of one transaction: deleting holds no lock for long.
BATCH_SIZE = 500


def purge(*, days: int | None = None, dry_run: bool = False) -> dict[str, int]:
    """Delete expired data with everything that depends on it, and count it.

    Args:
        days: Delete answers and sessions older than this; by default ``PKB_RETENTION_DAYS``.
            Without either, delete only what has expired.
        dry_run: Only count.

    Returns:
        Numbers deleted, or to be deleted: ``answers``, ``sessions``, ``streams``, ``tombstones``,
        ``cookies`` (login sessions), ``events``, ``logins`` (login attempts), and ``files`` that
        were uploaded but never became a document.
    """
    streams = ChatStream.objects.expired()
    sessions = Session.objects.expired()
    answers = models.Answer.objects.none()
    days = settings.PKB_RETENTION_DAYS if days is None else days
    if days is not None:
        oldest = timezone.now() - timedelta(days=days)
        answers = models.Answer.objects.filter(created_at__lt=oldest)
        sessions |= Session.objects.filter(last_used_at__lt=oldest)
        streams |= ChatStream.objects.filter(created_at__lt=oldest)
    remove = _count if dry_run else _remove
    return {
        "answers": remove(answers), "sessions": remove(sessions), "streams": remove(streams),
        "tombstones": remove(Tombstone.objects.expired()),
        "cookies": remove(LoginSession.objects.filter(expire_date__lt=timezone.now())),
        "logins": purge_logins(dry_run=dry_run), "events": purge_events(dry_run=dry_run),
        "files": delete_orphaned_uploads(dry_run=dry_run),
    }  # fmt: skip


def _count(rows: QuerySet[Model]) -> int:
    return rows.count()


def _remove(rows: QuerySet[Model]) -> int:
    removed = 0
    while keys := list(rows.values_list("pk", flat=True)[:BATCH_SIZE]):
        rows.model._default_manager.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed
