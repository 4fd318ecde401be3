"""Delete what has expired, and answers derived from deleted documents.

The latter happens in the transaction that deletes the documents. A model may have mixed several
documents, so the whole text of an answer that cites one of them is erased. The answer remains as a
record of the erasure.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session as LoginSession
from django.db import connection
from django.db.models import Func, Min, Model, Q, QuerySet
from django.utils import timezone

from accounts.audit import purge_events
from accounts.lockouts import purge_logins
from corpus.access.principal import SYSTEM, acting_as
from corpus.ingestion.uploaded_files import delete_orphaned_uploads
from corpus.models import Collection, DocumentContent, Tombstone, WebhookDelivery
from corpus.webhooks import WebhookEvent, tell
from qa import models
from qa.models import ERASED_ANSWER, ERASED_CITATION, ChatEvent, ChatStream, Message, Session


def forget_collection(sender: Any, *, instance: Collection, **_: Any) -> None:
    """Show answers over all collections without the one that is deleted; those erased remain."""
    with acting_as(SYSTEM):
        quoting = models.Answer.objects.filter(quoted_collections__contains=[instance.pk])
        quoting.filter(collection=None).update(
            quoted_collections=Func("quoted_collections", instance.pk, function="array_remove")
        )


# The document of a selected text is unknown, only its words are. A selection does not show the
# original white space, and rendered Markdown lacks its marks.
_MARKS = "*_`[]()#>|~\\!<"
_FIND_QUOTES = """
SELECT id FROM qa_citation
 WHERE is_selected AND quote <> ''
   AND (strpos(%s, btrim(regexp_replace(quote, '\\s+', ' ', 'g'))) > 0
     OR strpos(%s, btrim(regexp_replace(translate(quote, %s, ''), '\\s+', ' ', 'g'))) > 0
    AND btrim(translate(quote, %s, '')) <> '')
"""
_LINK_TARGET = re.compile(r"\]\([^)\n]*\)")
_ITEM = re.compile(r"^[ \t>]*(?:[-+*]|\d+[.)])[ \t]", re.MULTILINE)


def erase_derived_answers(sender: Any, *, documents: Sequence[UUID], **_: Any) -> None:
    """Clear the citations of these documents and the answers that cite them; delete their cells."""
    models.Answer.objects.filter(grid__isnull=False, asked_document__in=documents).delete()
    citing = Q(document__in=documents) | Q(pk__in=_find_in_selections(documents))
    citations = models.Citation.objects.filter(citing)
    answers = list(citations.order_by().values_list("answer", flat=True).distinct())
    citations.update(**ERASED_CITATION)
    models.Answer.objects.filter(pk__in=answers).update(**ERASED_ANSWER)
    tell(WebhookEvent.ANSWER_STALE, models.Answer.objects.to_people().filter(pk__in=answers))
    # A draft may contain text that no citation shows.
    drafted = models.Answer.objects.filter(draft__documents__has_any_keys=list(map(str, documents)))
    drafted.update(draft=None)
    # Reset later questions of these conversations to how they were asked: a language model may have
    # completed them from an erased answer.
    erased = Message.objects.filter(answer__in=answers).order_by().values_list("session")
    since = dict(erased.annotate(first=Min("created_at")))
    # Adding an exchange locks the session: it is there by now, or sees the erasure.
    list(Session.objects.filter(pk__in=since).order_by("pk").select_for_update().values_list("pk"))
    for session, first in since.items():
        later = Message.objects.filter(session=session, created_at__gt=first)
        for message in later.select_related("answer").only("answer__question", "searched"):
            reset_completed_question(message)
    running = ChatEvent.objects.filter(document__in=documents, stream__answer=None)
    streams = Q(stream__answer__in=answers) | Q(stream__in=running.values("stream"))
    ChatEvent.objects.filter(streams, kind="chunk").delete()


def _find_in_selections(documents: Sequence[UUID]) -> list[int]:
    """Return citations of selected texts whose quote occurs in one of the documents."""
    selected = models.Citation.objects.filter(is_selected=True).exclude(quote="")
    if not selected.exists():
        return []
    keys: list[int] = []
    texts = DocumentContent.objects.filter(pk__in=documents).values_list("text", flat=True)
    with connection.cursor() as cursor:
        for text in texts.iterator(chunk_size=1):
            unmarked = _ITEM.sub("", _LINK_TARGET.sub("", text))
            unmarked = unmarked.translate(dict.fromkeys(map(ord, _MARKS)))
            texts_of = [" ".join(each.split()) for each in (text, unmarked)]
            cursor.execute(_FIND_QUOTES, [*texts_of, _MARKS, _MARKS])
            keys += [key for (key,) in cursor.fetchall()]
    return keys


def reset_completed_question(message: Message) -> None:
    if message.searched == message.answer.question:
        return
    Message.objects.filter(pk=message.pk).update(searched=message.answer.question)
    models.Answer.objects.filter(pk=message.answer_id).update(steps=[])


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
        ``cookies`` (login sessions), ``events``, ``logins`` (login attempts), ``deliveries`` (of
        webhooks), and ``files`` that were uploaded but never became a document.
    """
    streams = ChatStream.objects.expired()
    sessions = Session.objects.expired()
    answers = models.Answer.objects.none()
    days = settings.PKB_RETENTION_DAYS if days is None else days
    if days is not None:
        oldest = timezone.now() - timedelta(days=days)
        answers = models.Answer.objects.to_people().filter(created_at__lt=oldest)
        sessions |= Session.objects.filter(last_used_at__lt=oldest)
        streams |= ChatStream.objects.filter(created_at__lt=oldest)
    remove = QuerySet[Model].count if dry_run else _remove
    return {
        "answers": remove(answers), "sessions": remove(sessions), "streams": remove(streams),
        "tombstones": remove(Tombstone.objects.expired()),
        "cookies": remove(LoginSession.objects.filter(expire_date__lt=timezone.now())),
        "logins": purge_logins(dry_run=dry_run), "events": purge_events(dry_run=dry_run),
        "deliveries": remove(WebhookDelivery.objects.expired()),
        "files": delete_orphaned_uploads(dry_run=dry_run),
    }  # fmt: skip


def _remove(rows: QuerySet[Model]) -> int:
    removed = 0
    while keys := list(rows.values_list("pk", flat=True)[:BATCH_SIZE]):
        rows.model._default_manager.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed
