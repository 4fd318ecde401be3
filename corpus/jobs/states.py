"""Change the state of jobs: retry, cancel, fail, requeue, delete."""

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
from corpus.models.job import JobQuerySet
from corpus.queue import enqueue_job
from corpus.telemetry import current_request_id
from corpus.user_quotas import check_job_quota
from corpus.webhooks import WebhookEvent, tell

log = structlog.get_logger(__name__)

# Ended jobs that stay of one folder, source or site.
MAX_OLD_JOBS = 20
_NO_CHANGE = (Outcome.UNCHANGED, Outcome.REDIRECTED, Outcome.SKIPPED)


@transaction.atomic
def retry_job(job_id: UUID) -> Job:
    """Queue a failed or cancelled job again; completed items stay completed.

    Raises:
        JobNotFound: There is no job with this id.
        JobStateConflict: It is in another state.
        TooManyJobs: The user has too many unfinished jobs.
    """
    check_job_quota()
    job = _locked(job_id, expected={Job.Status.FAILED, Job.Status.CANCELLED}, verb="retried")
    # Deleted documents cannot be retried.
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
    """Cancel a queued or running job; the current file is finished first.

    Raises:
        JobNotFound: There is no job with this id.
        JobStateConflict: It has ended already.
    """
    job = _locked(job_id, expected={*Job.UNFINISHED}, verb="cancelled")
    close_job(job, Job.Status.CANCELLED)
    return job


@transaction.atomic
def fail_job(job_id: UUID, *, reason: str) -> None:
    """Fail a job, unless it has ended."""
    locked = Job.objects.select_for_update().unfinished().filter(pk=job_id).first()
    if locked is not None:
        close_job(locked, Job.Status.FAILED, reason=reason)


def close_job(job: Job, status: Job.Status, *, reason: str = "") -> None:
    """End a locked job, inside a transaction.

    Placeholders of unfinished items are deleted; documents with an old version are completed.
    """
    unfinished = [Document.Status.PENDING, Document.Status.PROCESSING]
    documents = kind_of(job).documents(job, job.items.pending())
    waiting = documents.filter(status__in=unfinished)
    waiting.filter(content_sha256="").delete()
    # An old version with all its vectors is complete.
    bare = Chunk.objects.filter(document=OuterRef("pk")).exclude(
        Exists(Embedding.objects.filter(chunk=OuterRef("pk")))
    )
    waiting.filter(~Exists(bare)).update(status=Document.Status.COMPLETED)
    if reason:
        job.add_error(reason)
    job.status, job.stage, job.finished_at = status, Job.Stage.ENDED, timezone.now()
    job.save(update_fields=["status", "stage", "finished_at", "errors"])
    if job.is_background:
        tell(WebhookEvent.JOB_ENDED, [job])
        log_job_event(job, "job_ended", status=status.value, done=job.done, failed=job.failed)


def log_job_event(job: Job, event: str, **fields: str | int) -> None:
    """Log an event with the id of the request that created the job."""
    log.info(event, job_id=str(job.pk), request_id=job.request_id, **fields)


def cancel_abandoned_jobs() -> None:
    """Cancel the jobs of killed commands, which the user has to run again."""
    for job in Job.objects.unfinished().filter(is_background=False):
        # A running job is locked: a job that can be locked is abandoned.
        with job_lock(job.pk) as is_free, transaction.atomic():
            locked = Job.objects.select_for_update().unfinished().filter(pk=job.pk).first()
            if is_free and locked is not None:
                close_job(locked, Job.Status.CANCELLED, reason="The command was ended.")


def requeue_abandoned_jobs() -> None:
    """Queue unfinished background jobs that no process runs."""
    for job in Job.objects.unfinished().filter(is_background=True):
        with job_lock(job.pk) as is_free:
            if is_free:
                enqueue_job(job.pk)


def delete_old_jobs(jobs: JobQuerySet) -> None:
    """Delete ended jobs of recurring syncs except for the newest ``MAX_OLD_JOBS``.

    Jobs that succeeded and changed nothing are always deleted, since each has an item for every
    file or page.

    Args:
        jobs: Jobs of one folder, source or site, newest first.
    """
    items = JobItem.objects.filter(job=OuterRef("pk"))
    changed = Exists(items.exclude(outcome__in=_NO_CHANGE))
    ended = jobs.exclude(status__in=Job.UNFINISHED)
    ended.filter(~changed, status=Job.Status.SUCCEEDED).delete()
    old = list(ended.values_list("pk", flat=True)[MAX_OLD_JOBS:])
    Job.objects.filter(pk__in=old).delete()


def _locked(job_id: UUID, *, expected: set[str], verb: str) -> Job:
    job = Job.objects.select_for_update().filter(pk=job_id).first()
    if job is None:
        raise JobNotFound(f"There is no job {job_id}.")
    if job.status not in expected:
        raise JobStateConflict(f"The job is {job.status} and cannot be {verb}.")
    return job
