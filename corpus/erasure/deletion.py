"""Erase data of deleted documents that no foreign key refers to.

Signal handlers run at every deletion by the ORM, in its transaction. Other apps erase their data on
``documents_deleted``.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import Q
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import Signal, receiver

from corpus.access.principal import SYSTEM, acting_as
from corpus.erasure.shingles import ShingleHasher
from corpus.ingestion.uploaded_files import delete_uploads_on_commit, path_of
from corpus.jobs.job_cleanup import erase_from_jobs
from corpus.jobs.states import fail_job
from corpus.jobs.uploads import uploads_of
from corpus.lexical import drop_unused_words, read_words
from corpus.models import Collection, Document, IdempotentRequest, Job, JobItem, Tombstone
from corpus.postgres import execute
from corpus.webhooks import WebhookEvent, tell

# Sent with ``documents``, the ids. The rows are locked, and dependent rows still exist.
documents_deleted = Signal()

Status = Document.Status

# Documents of a collection that one statement erases.
BATCH_SIZE = 200


@receiver(pre_delete, sender=Document)
def erase_document(sender: Any, *, instance: Document, origin: Any, **_: Any) -> None:
    """Erase data of a document before its row is deleted, and store its words on the instance.

    One statement deletes all chunks, so that the triggers count each word once; Django would delete
    a hundred at a time. Django deletes dependent rows before the constraints are checked, at the
    commit.
    """
    deleted = origin.model if isinstance(origin, models.QuerySet) else type(origin)
    # Collections erase the data of their documents at once.
    if deleted is Collection or not (files := _erase([instance.pk])):
        return
    instance.words_counted = read_words(instance.chunks.values_list("pk", flat=True))
    execute("DELETE FROM corpus_chunk WHERE document_id = %s", [instance.pk])
    # Jobs of sources name a document by its URI.
    name = files[0][0] or instance.source_uri
    erase_from_jobs(instance.pk, collection_id=instance.collection_id, path=name)
    _drop_files(files)


@receiver(post_delete, sender=Document)
def forget_words(sender: Any, *, instance: Document, **_: Any) -> None:
    """Delete the counts of words that no chunk contains any more."""
    drop_unused_words(instance.words_counted, collection_id=instance.collection_id)


@receiver(pre_delete, sender=Collection)
def erase_collection(sender: Any, *, instance: Collection, **_: Any) -> None:
    """Erase data of all documents of a collection."""
    keys = list(instance.documents.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        # Jobs of other collections name documents that were moved here.
        foreign = JobItem.objects.exclude(job__collection=instance).filter(document_id__in=batch)
        moved = Document.objects.filter(pk__in=foreign.values("document_id"))
        for key, path in moved.values_list("pk", "file_path"):
            erase_from_jobs(key, collection_id=instance.pk, path=path)
        _drop_files(_erase(batch))
    delete_uploads_on_commit(*uploads_of(instance))


@receiver(pre_delete, sender=get_user_model())
def leave_collections(sender: Any, *, instance: Any, **_: Any) -> None:
    """Fail the unfinished jobs of a deleted user, and give their collections to the superusers.

    A job without a creator would continue with other permissions. If the name of a collection is
    taken, the user's name is appended.
    """
    ownerless = Collection.objects.filter(owner=None)
    suffix = re.sub(r"[^a-zA-Z0-9_-]", "-", instance.get_username())[:30]
    with acting_as(SYSTEM):
        for job in Job.objects.unfinished().filter(made_by=instance):
            fail_job(job.pk, reason="Its creator was deleted.")
        for collection in Collection.objects.filter(owner=instance):
            name = collection.name
            names = chain([name], (f"{name[:60]}-{suffix}{number or ''}" for number in count()))
            collection.name = next(n for n in names if not ownerless.filter(name=n).exists())
            collection.owner = None
            collection.save(update_fields=["name", "owner"])


def _erase(documents: Sequence[UUID]) -> list[tuple[str, str]]:
    """Erase data of documents that is not deleted with their rows.

    Returns:
        ``file_path`` and ``kept_file`` of each document, empty if it has none; without documents
        that wait for their first version.
    """
    # Writers of data about a document lock its row first: their data exists by now, or they fail.
    rows = Document.objects.filter(pk__in=documents).order_by("pk").select_for_update()
    waiting = Q(content_sha256="", status__in=[Status.PENDING, Status.PROCESSING])
    values = rows.exclude(waiting).values_list("pk", "file_path", "kept_file")
    files = {key: (path, kept_file) for key, path, kept_file in values}
    if files:
        if settings.PKB_TOMBSTONE_DAYS:
            hasher, tombstones = ShingleHasher(settings.SECRET_KEY), []
            texts = Document.objects.stored().filter(pk__in=list(files))
            for text, digest in texts.values_list("content__text", "content_sha256").iterator(1):
                hashes, width = hasher.hash_text(text)
                tombstones.append(
                    Tombstone(
                        content_sha256=digest,
                        seal=hasher.digest(digest),
                        hashes=hashes,
                        width=width,
                    )
                )
            Tombstone.objects.bulk_create(tombstones)
        IdempotentRequest.objects.naming(files).delete()
        blank_admin_log(Document, files)
        documents_deleted.send(sender=Document, documents=list(files))
        tell(WebhookEvent.DOCUMENT_DELETED, Document.objects.filter(pk__in=files))
    return list(files.values())


def _drop_files(files: Sequence[tuple[str, str]]) -> None:
    uploads = (path_of(kept_file) for _, kept_file in files if kept_file)
    delete_uploads_on_commit(*(path for path, _ in files), *uploads)


def blank_admin_log(model: type[models.Model], keys: Iterable[Any]) -> None:
    """Blank the names of rows in the admin's log, which contain titles and text."""
    kind = ContentType.objects.get_for_model(model)
    named = LogEntry.objects.filter(content_type=kind, object_id__in=[str(key) for key in keys])
    named.update(object_repr="", change_message="")
