"""Job locks, runners and claims: session locks of Postgres, which end with their process."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.db.models import F

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.job_cleanup import blank_item
from corpus.jobs.kinds import kind_of
from corpus.jobs.kinds.job_kind import set_result
from corpus.models import Document, Job, JobItem
from corpus.models.job import RUNNER_LOCKS
from corpus.postgres import try_session_lock

# A file that kills its worker so often is quarantined; twice may be an accident.
MAX_ATTEMPTS = 3


@contextmanager
def job_lock(job_id: UUID) -> Iterator[bool]:
    """Lock a job for this process; yield False if another process holds the lock."""
    with try_session_lock(int.from_bytes(job_id.bytes[:8], signed=True)) as is_mine:
        yield is_mine


@contextmanager
def register_runner() -> Iterator[int]:
    """Register as a runner and yield its number; the lock ends with the session."""
    number = secrets.randbelow(2**31 - 1) + 1
    # Nobody else draws the same number.
    with try_session_lock(RUNNER_LOCKS, number):
        yield number


def claim_item(job_id: UUID, *, number: int) -> JobItem | None:
    """Claim the next item; quarantine items that were begun too often."""
    while (item := JobItem.objects.claim(job_id, runner=number)) is not None:
        if item.attempts <= MAX_ATTEMPTS:
            return item
        reason = f"It was begun {MAX_ATTEMPTS} times and the work never came to its end."
        give_up_item(item, JobItem.Status.QUARANTINED, reason=reason)
    return None


@transaction.atomic
def give_up_item(item: JobItem, status: JobItem.Status, *, reason: str) -> None:
    """End an item that failed without a result."""
    kind_of(item.job).give_up(item, reason)
    end_item(item, ItemResult(Outcome.FAILED, str(item.document_id or ""), reason=reason), status)


@transaction.atomic
def end_item(item: JobItem, result: ItemResult, status: JobItem.Status | None = None) -> None:
    """Store the result of an item, and update the counts of its job."""
    set_result(item, result)
    item.status = status or item.status
    job = Job.objects.select_for_update(no_key=True).filter(pk=item.job_id).first()
    # The job may be deleted with its collection, or another process ended the item.
    if job is None or not JobItem.objects.pending().filter(pk=item.pk).exists():
        return
    if item.document_id and not Document.objects.lock_for_key_share([str(item.document_id)]):
        blank_item(item)
    item.save()
    if result.has_failed:
        job.add_error(item.reason, item)
    counted = "failed" if result.has_failed else "done"
    Job.objects.filter(pk=job.pk).update(**{counted: F(counted) + 1}, errors=job.errors)
