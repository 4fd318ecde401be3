"""Change what is to become of a job: retry, cancel, give up."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from corpus.access.principal import current_creator_id, current_key_collections
from corpus.errors import JobNotFound, JobStateConflict
from corpus.ingestion.outcomes import Outcome
from corpus.jobs.kinds import kind_of
from corpus.jobs.leases import job_lock
from corpus.models import Chunk, Document, Embedding, Job, JobItem
from corpus.queue import enqueue_job
from corpus.telemetry import current_request_id
from corpus.user_quotas import check_job_quota

log = structlog.get_logger(__name__)


@transaction.atomic
def retry_job(job_id: UUID) -> Job:
    """Queue a failed or cancelled job again; what was done stays done.

    Raises:
        JobNotFound: There is none of that id.
        JobStateConflict: It is in another state.
        TooManyJobs: Who acts has as many unfinished ones as they may.
    """
    check_job_quota()
    job = _locked(job_id, expected={Job.Status.FAILED, Job.Status.CANCELLED}, verb="retried")
    # Nothing is left of them to try again.
    gone = job.items.troubled().filter(outcome=Outcome.REMOVED)
    job.done += gone.update(status=JobItem.Status.DONE, reason="")
    troubled = job.items.troubled()
    failed = kind_of(job).documents(job, troubled).filter(status=Document.Status.FAILED)
    failed.update(status=Document.Status.PENDING, error="")
    troubled.update(
        status=JobItem.Status.PENDING,
        attempts=0,
        outcome="",
        reason="",
        ended_at=None,
        stage=JobItem.Stage.QUEUED,
    )
    job.items.pending().update(attempts=0)
    job.made_by_id, job.bounds = current_creator_id(), current_key_collections()
    job.status, job.stage, job.is_background = Job.Status.QUEUED, Job.Stage.WAITING, True
    job.failed, job.errors, job.start_count, job.finished_at = 0, [], 0, None
    job.request_id = current_request_id() or job.request_id
    job.save()
    enqueue_job(job.pk)
    return job


@transaction.atomic
def cancel_job(job_id: UUID) -> Job:
    """Stop a queued or running job; a file at work is brought to its end.

    Raises:
        JobNotFound: There is none of that id.
        JobStateConflict: It has ended already.
    """
    job = _locked(job_id, expected={*Job.UNFINISHED}, verb="cancelled")
    close_job(job, Job.Status.CANCELLED)
    return job


@transaction.atomic
def fail_job(job_id: UUID, *, reason: str) -> None:
    """End a job, unless it has ended meanwhile."""
    locked = Job.objects.select_for_update().unfinished().filter(pk=job_id).first()
    if locked is not None:
        close_job(locked, Job.Status.FAILED, reason=reason)


def close_job(job: Job, status: Job.Status, *, reason: str = "") -> None:
    """End a job, inside a transaction that has locked it."""
    release_documents(job)
    if reason:
        job.add_error(reason)
    job.status, job.stage, job.finished_at = status, Job.Stage.ENDED, timezone.now()
    job.save(update_fields=["status", "stage", "finished_at", "errors"])
    if job.is_background:
        log_job_event(job, "job_ended", status=status.value, done=job.done, failed=job.failed)


def log_job_event(job: Job, event: str, **said: str | int) -> None:
    """Write a line of the log that bears the id of the request that asked for the job."""
    log.info(event, job_id=str(job.pk), request_id=job.request_id, **said)


@contextmanager
def job_log_context(job_id: UUID) -> Iterator[None]:
    """Have every line of the log bear the job's id, and that of the request that asked for it."""
    asked_by = Job.objects.filter(pk=job_id).values_list("request_id", flat=True).first()
    with structlog.contextvars.bound_contextvars(job_id=str(job_id), request_id=asked_by or ""):
        yield


def cancel_abandoned_jobs() -> None:
    """End the jobs of commands that were killed; their command is to be given again."""
    for job in Job.objects.unfinished().filter(is_background=False):
        # Whoever runs a job holds it: one that can be taken has nobody.
        with job_lock(job.pk) as is_free, transaction.atomic():
            locked = Job.objects.select_for_update().unfinished().filter(pk=job.pk).first()
            if is_free and locked is not None:
                close_job(locked, Job.Status.CANCELLED, reason="The command was ended.")


def requeue_abandoned_jobs() -> None:
    """Put jobs before the workers again that nobody looks after."""
    for job in Job.objects.unfinished().filter(is_background=True):
        with job_lock(job.pk) as is_free:
            if is_free:
                enqueue_job(job.pk)


def release_documents(job: Job) -> None:
    """Leave no document of an unfinished item waiting: drop what never got a version."""
    waiting = (
        kind_of(job)
        .documents(job, job.items.pending())
        .filter(status__in=[Document.Status.PENDING, Document.Status.PROCESSING])
    )
    # Placeholders go; an older version with all its vectors is what it was before.
    waiting.filter(content_sha256="").delete()
    bare = Chunk.objects.filter(document=OuterRef("pk")).exclude(
        Exists(Embedding.objects.filter(chunk=OuterRef("pk")))
    )
    waiting.filter(~Exists(bare)).update(status=Document.Status.COMPLETED)


def _locked(job_id: UUID, *, expected: set[str], verb: str) -> Job:
    job = Job.objects.select_for_update().filter(pk=job_id).first()
    if job is None:
        raise JobNotFound(f"There is no job {job_id}.")
    if job.status not in expected:
        raise JobStateConflict(f"The job is {job.status}; it cannot be {verb}.")
    return job
