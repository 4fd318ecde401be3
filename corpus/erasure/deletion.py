"""Take along what no foreign key leads to.

Hooked on every deletion by the ORM, whoever begins it, and done in its transaction: at the commit
all is gone, before it all is there. What lies above the corpus is told by ``documents_deleted``.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models
from django.db.models import Q
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import Signal, receiver

from corpus.access.principal import SYSTEM, acting_as
from corpus.erasure.tombstones import create_tombstones
from corpus.ingestion.uploaded_files import delete_uploads_on_commit, path_of
from corpus.jobs.job_cleanup import erase_from_jobs
from corpus.jobs.states import fail_job
from corpus.jobs.uploads import uploads_of
from corpus.lexical import drop_unused_words, read_words
from corpus.models import Collection, Document, IdempotentRequest, Job, JobItem

# Sent with ``documents``, their ids: the rows are locked, and what belongs to them is still there.
documents_deleted = Signal()

Status = Document.Status

# Of a collection, so many are erased by one statement.
BATCH_SIZE = 200


@receiver(pre_delete, sender=Document)
def erase_document(sender: Any, *, instance: Document, origin: Any, **_: Any) -> None:
    """Erase before the row goes, and remember its words, which are counted until then.

    Chunks go by one statement, which counts each word once, where Django takes a hundred of them at
    a time. What hangs on them Django deletes before the constraints are checked, at the commit.
    """
    if _goes_with_collection(origin) or not (found := _erase([instance.pk])):
        return
    instance.words_counted = read_words(instance.chunks.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM corpus_chunk WHERE document_id = %s", [instance.pk])
    # What came from another program is named in jobs by its address there.
    name = found[0][0] or instance.source_uri
    erase_from_jobs(instance.pk, collection_id=instance.collection_id, path=name)
    _drop_files(found)


@receiver(post_delete, sender=Document)
def forget_words(sender: Any, *, instance: Document, **_: Any) -> None:
    """Drop the counts of words that no chunk has any more; those of a collection go with it."""
    drop_unused_words(instance.words_counted, collection_id=instance.collection_id)


@receiver(pre_delete, sender=Collection)
def erase_collection(sender: Any, *, instance: Collection, **_: Any) -> None:
    """Erase all its documents; its jobs and counts go with it."""
    keys = list(instance.documents.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        _drop_foreign_traces(batch, collection=instance)
        _drop_files(_erase(batch))
    delete_uploads_on_commit(*uploads_of(instance))


@receiver(pre_delete, sender=get_user_model())
def leave_collections(sender: Any, *, instance: Any, **_: Any) -> None:
    """End what a user has begun, and leave their collections to the superusers.

    A job that nobody made would go on with other rights. Names that are taken there get the
    user's behind them.
    """
    with acting_as(SYSTEM):
        for job in Job.objects.unfinished().filter(made_by=instance):
            fail_job(job.pk, reason="Who began it was deleted.")
        for collection in Collection.objects.filter(owner=instance):
            collection.name = _free_name(collection.name, instance.get_username())
            collection.owner = None
            collection.save(update_fields=["name", "owner"])


def _free_name(name: str, username: str) -> str:
    left = Collection.objects.filter(owner=None)
    suffix = re.sub(r"[^a-zA-Z0-9_-]", "-", username)
    tried = chain([name], (f"{name[:60]}-{suffix[:30]}{number or ''}" for number in count()))
    return next(each for each in tried if not left.filter(name=each).exists())


def _drop_foreign_traces(documents: Sequence[UUID], *, collection: Collection) -> None:
    """Blank what jobs of other collections say of documents that came from there."""
    foreign = JobItem.objects.exclude(job__collection=collection).filter(document_id__in=documents)
    named = Document.objects.filter(pk__in=foreign.values("document_id"))
    for key, path in named.values_list("pk", "file_path"):
        erase_from_jobs(key, collection_id=collection.pk, path=path)


def _goes_with_collection(origin: Any) -> bool:
    return (origin.model if isinstance(origin, models.QuerySet) else type(origin)) is Collection


def _erase(documents: Sequence[UUID]) -> list[tuple[str, str]]:
    """Blank or remove what holds words of documents and does not go with their rows.

    Returns:
        Where their files are, ``file_path`` and ``kept_file``, either of them empty where there
        is none; nothing of what waits for its first version: nothing was stored of that.
    """
    # Who writes what is said of a document holds its row: that is there by now, or finds it gone.
    rows = Document.objects.filter(pk__in=documents).order_by("pk").select_for_update()
    waiting = Q(content_sha256="", status__in=[Status.PENDING, Status.PROCESSING])
    named = rows.exclude(waiting).values_list("pk", "file_path", "kept_file")
    found = {key: (path, kept) for key, path, kept in named}
    if found:
        create_tombstones(list(found))
        IdempotentRequest.objects.naming(found).delete()
        blank_admin_log(Document, found)
        documents_deleted.send(sender=Document, documents=list(found))
    return list(found.values())


def _drop_files(found: Sequence[tuple[str, str]]) -> None:
    kept = (path_of(kept_file) for _, kept_file in found if kept_file)
    delete_uploads_on_commit(*(path for path, _ in found), *kept)


def blank_admin_log(model: type[models.Model], keys: Iterable[Any]) -> None:
    """Blank what the admin's log calls rows: their titles, or how their text begins."""
    kind = ContentType.objects.get_for_model(model)
    named = LogEntry.objects.filter(content_type=kind, object_id__in=[str(key) for key in keys])
    named.update(object_repr="", change_message="")
