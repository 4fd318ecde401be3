"""Run a job: list its items, run them one by one, finish it."""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic, sleep
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from structlog.contextvars import bound_contextvars

from corpus.access.principal import SYSTEM, Principal, Scope, acting_as
from corpus.errors import BackendError, CollectionNotFound, SourceUnavailable
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.outcomes import Outcome
from corpus.jobs.kinds import kind_of
from corpus.jobs.leases import (
    MAX_ATTEMPTS,
    claim_item,
    end_item,
    give_up_item,
    job_lock,
    register_runner,
)
from corpus.jobs.states import close_job, fail_job, log_job_event
from corpus.models import Collection, Job, JobItem
from corpus.queue import enqueue_job, has_waiting_tasks

ShouldStop = Callable[[], bool]
# How often a waiting job checks for other tasks.
DELAY_STEP_S = 0.5
# Jobs that need no model run within the request for so long; a worker does the rest.
RUN_NOW_S = 1.0


def run_job_slice(
    job_id: UUID,
    *,
    should_stop: ShouldStop = lambda: False,
    is_slice_over: ShouldStop = lambda: False,
) -> bool:
    """Run a job until it ends, must stop, or its time slice is over.

    Args:
        should_stop: Called between files, also while files are listed.
        is_slice_over: Called between items.

    Returns:
        True if the job ended, was cancelled, or another process runs it.
    """
    request_id = Job.objects.filter(pk=job_id).values_list("request_id", flat=True).first()
    log_ids = bound_contextvars(job_id=str(job_id), request_id=request_id or "")
    with job_lock(job_id) as is_mine, log_ids:
        if not is_mine:
            return True
        job = begin_job(job_id, should_stop=should_stop)
        if job is None:
            return True
        for _ in run_items(job, should_stop=lambda: should_stop() or is_slice_over()):
            pass
        return finish_job(job)


def run_job_slice_for_creator(
    job_id: UUID, *, should_stop: ShouldStop, is_slice_over: ShouldStop
) -> bool:
    """Run a job on behalf of its creator, as ``run_job_slice``.

    Jobs of schedules and commands run on behalf of the collection's owner, if it has one. The job
    fails if that user may not change the collection any more; this is checked in each slice.
    """
    columns = ("made_by", "collection__owner", "bounds")
    row = Job.objects.filter(pk=job_id).values_list(*columns).first()
    made_by, owner, bounds = row or (None, None, None)
    principal = SYSTEM
    if made_by is not None or owner is not None:
        principal = Principal(
            user_id=made_by or owner,
            scopes=frozenset({Scope.READ, Scope.INGEST}),
            collections=None if bounds is None else tuple(bounds),
        )
    with acting_as(principal):
        writable = Collection.objects.writable()
        if Job.objects.filter(pk=job_id, collection__in=writable).exists():
            return run_job_slice(job_id, should_stop=should_stop, is_slice_over=is_slice_over)
    with job_lock(job_id) as is_mine:
        if is_mine:
            fail_job(job_id, reason="Its creator may not change the collection any more.")
    return True


def run_jobs_now(jobs: Iterable[Job]) -> None:
    """Run jobs within a request for ``RUN_NOW_S``; queue unfinished ones."""
    ends = monotonic() + RUN_NOW_S
    for job in jobs:
        if not run_job_slice(job.pk, is_slice_over=lambda: monotonic() > ends):
            # A worker may have skipped it, since this process held the lock.
            enqueue_job(job.pk)


def begin_job(job_id: UUID, *, should_stop: ShouldStop = lambda: False) -> Job | None:
    """Start a job and list its items; return None if it must not run."""
    with transaction.atomic():
        job = Job.objects.select_for_update().unfinished().filter(pk=job_id).first()
        if job is None:
            return None
        job.status = Job.Status.RUNNING
        job.started_at = job.started_at or timezone.now()
        job.start_count += 1
        if job.start_count == 1 and job.is_background:
            log_job_event(job, "job_began", kind=job.kind)
        kind = kind_of(job)
        job.stage = kind.stage if job.is_listed else Job.Stage.LISTING
        if not job.is_listed and (reason := kind.refuse(job)):
            close_job(job, Job.Status.FAILED, reason=reason)
            return None
        job.save(update_fields=["status", "started_at", "start_count", "stage"])
    if not job.is_listed:
        try:
            kind.list_items(job, should_stop=should_stop)
        except SourceUnavailable as exc:
            fail_job(job.pk, reason=error_reason(exc))
            return None
        Job.objects.filter(pk=job.pk, stage=Job.Stage.LISTING).update(stage=kind.stage)
    return Job.objects.select_related("collection").filter(pk=job_id).first()


def run_items(
    job: Job, *, should_stop: ShouldStop, on_begin: Callable[[JobItem], None] = lambda item: None
) -> Iterator[JobItem]:
    """Claim and run items, possibly beside other runners; yield each ended item."""
    with register_runner() as number:
        kind = kind_of(job)
        while not should_stop():
            if (left_s := kind.delay_before_next_s(job)) > 0:
                sleep(min(left_s, DELAY_STEP_S))
                # Other tasks wait for the worker.
                if job.is_background and has_waiting_tasks():
                    return
                continue
            item = claim_item(job.pk, number=number)
            if item is None:
                return
            on_begin(item)
            try:
                result = kind_of(item.job).run(item)
            except CollectionNotFound:
                return
            except BackendError as exc:
                # The job pauses, and the item is claimed again.
                if item.attempts < MAX_ATTEMPTS:
                    return
                give_up_item(item, JobItem.Status.FAILED, reason=error_reason(exc))
            else:
                end_item(item, result)
            yield item


def finish_job(job: Job) -> bool:
    """End a job without pending items.

    Returns:
        Whether the job has ended.
    """
    unlisted = Job.objects.unfinished().filter(pk=job.pk, is_listed=False)
    if unlisted.exists() or job.items.pending().exists():
        return not Job.objects.unfinished().filter(pk=job.pk).exists()
    Job.objects.unfinished().filter(pk=job.pk).update(stage=Job.Stage.REMOVING)
    kind_of(job).finish(job)
    with transaction.atomic():
        locked = Job.objects.select_for_update().unfinished().filter(pk=job.pk).first()
        # It may have been told to list its items again.
        if locked is not None and not locked.is_listed:
            return False
        if locked is not None:
            troubled = locked.items.troubled()
            if job.kind in Job.READING_FILES:
                # What was rejected would be rejected again.
                troubled = troubled.exclude(outcome=Outcome.REFUSED)
            has_failed = bool(locked.failed) and troubled.exists()
            close_job(locked, Job.Status.FAILED if has_failed else Job.Status.SUCCEEDED)
    return True
