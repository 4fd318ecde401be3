"""Quotas of users by the settings: bytes, documents and unfinished jobs.

Documents count for the owner of their collection, jobs for their creator. Staff, superusers,
commands and installations without a login have no quotas.
"""

from typing import NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce
from django.template.defaultfilters import filesizeformat

from corpus.access.principal import SYSTEM, acting_as, current_creator_id, current_principal
from corpus.errors import NoRoomLeft, TooManyJobs
from corpus.models import Collection, Document, Job
from corpus.models.document import DocumentQuerySet
from corpus.postgres import fetch_prepared

# First half of the key of the lock for checking a user's quotas.
USER_LOCKS = 0x706B63
_LOCK = "SELECT pg_advisory_xact_lock(%s::int4, %s::int4)"
_MORE = "Delete documents, or ask who runs this installation for more."


class Usage(NamedTuple):
    """The used amount and its maximum; None: unlimited."""

    used: int
    bound: int | None


class UserUsage(NamedTuple):
    """The usage of a user."""

    size_bytes: Usage
    documents: Usage
    jobs: Usage


def read_usage(user_id: int | None) -> UserUsage | None:
    """Return the usage of a user; None without quotas."""
    if not _has_quotas(user_id):
        return None
    with acting_as(SYSTEM):
        stored = _measure(Document.objects.stored().filter(collection__owner=user_id))
        job_count = Job.objects.unfinished().filter(made_by=user_id).count()
    return UserUsage(
        Usage(stored["size"], settings.PKB_USER_MAX_BYTES),
        Usage(stored["count"], settings.PKB_USER_MAX_DOCUMENTS),
        Usage(job_count, settings.PKB_USER_MAX_JOBS),
    )


def check_quota(
    collection: Collection,
    *,
    size_bytes: int,
    source_uri: str = "",
    replacing: Document | None = None,
) -> None:
    """Reject a document that would exceed a quota of the collection's owner.

    Other writers for the same owner wait until the open transaction ends. A document that does not
    increase the usage is accepted, even above the quota.

    Args:
        source_uri: The document with this URI is replaced, if ``replacing`` is None.

    Raises:
        NoRoomLeft: The owner has too many documents or bytes.
    """
    owner_id = collection.owner_id
    if current_principal().sees_all or not _has_quotas(owner_id):
        return
    fetch_prepared(_LOCK, [USER_LOCKS, owner_id])
    former = Q(collection=collection, source_uri=source_uri) & ~Q(source_uri="")
    if replacing is not None:
        former = Q(pk=replacing.pk)
    with acting_as(SYSTEM):
        documents = Document.objects.stored().filter(collection__owner=owner_id)
        now, gone = _measure(documents), _measure(documents.filter(former))
    _reject_excess(now, documents=1 - gone["count"], size_bytes=size_bytes - gone["size"])


def check_upload_quota(collection: Collection) -> None:
    """Reject uploads before they are saved, if the owner has reached a quota.

    Pending and failed files count as well, since they are stored.

    Raises:
        NoRoomLeft: As ``check_quota``.
    """
    if not _has_quotas(collection.owner_id):
        return
    with acting_as(SYSTEM):
        stored = _measure(Document.objects.filter(collection__owner=collection.owner_id))
    _reject_excess(stored, documents=1, size_bytes=1)


def check_job_quota() -> None:
    """Reject a new job, inside the transaction that creates it.

    Raises:
        TooManyJobs: The user has too many unfinished jobs.
    """
    maker_id, bound = current_creator_id(), settings.PKB_USER_MAX_JOBS
    if bound is None or not _has_quotas(maker_id):
        return
    fetch_prepared(_LOCK, [USER_LOCKS, maker_id])
    with acting_as(SYSTEM):
        count = Job.objects.unfinished().filter(made_by=maker_id).count()
    if count >= bound:
        raise TooManyJobs(
            f"You have {count} unfinished jobs, of {bound} that you may have at once. Wait until"
            " one has ended, or cancel one."
        )


def _has_quotas(user_id: int | None) -> bool:
    bounds = (
        settings.PKB_USER_MAX_BYTES,
        settings.PKB_USER_MAX_DOCUMENTS,
        settings.PKB_USER_MAX_JOBS,
    )
    if user_id is None or not settings.PKB_AUTH_REQUIRED or not any(bounds):
        return False
    ordinary = get_user_model().objects.filter(is_staff=False, is_superuser=False)
    return ordinary.filter(pk=user_id).exists()


def _measure(documents: DocumentQuerySet) -> dict[str, int]:
    return dict(documents.aggregate(count=Count("pk"), size=Coalesce(Sum("size_bytes"), 0)))


def _reject_excess(stored: dict[str, int], *, documents: int, size_bytes: int) -> None:
    """Reject more documents and bytes, unless they are none or within the quotas."""
    max_count, max_bytes = settings.PKB_USER_MAX_DOCUMENTS, settings.PKB_USER_MAX_BYTES
    if max_count is not None and documents > 0 and stored["count"] + documents > max_count:
        raise NoRoomLeft(
            f"The owner of this collection has {stored['count']:,} of the {max_count:,} documents"
            f" that they may have. {_MORE}"
        )
    if max_bytes is not None and size_bytes > 0 and stored["size"] + size_bytes > max_bytes:
        used, added, bound = (
            filesizeformat(count).replace("\xa0", " ")
            for count in (stored["size"], size_bytes, max_bytes)
        )
        raise NoRoomLeft(
            f"The owner of this collection has {used} of the {bound} of documents that they may"
            f" have; this would be {added} more. {_MORE}"
        )
