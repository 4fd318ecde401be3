"""Run a job: list its items, end them one by one, finish it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from corpus.errors import BackendError, CollectionNotFound, PkbError
from corpus.ingestion.disk import FileResult, Outcome
from corpus.ingestion.files import SyncOptions, bring_file, reason_of
from corpus.ingestion.vectors import bring_vectors, complete_document
from corpus.jobs.kinds.collection_map import draw_map
from corpus.jobs.kinds.sync import plan_sync
from corpus.jobs.leases import MAX_ATTEMPTS, claim_item, end_item, held, runner
from corpus.jobs.states import close_job
from corpus.models import Document, Job, JobItem

ShouldStop = Callable[[], bool]
# A listing that was begun so often and did not end will not end the next time either.
MAX_STARTS = 5


def never() -> bool:
    """Do not stop."""
    return False


def advance_job(
    job_id: UUID, *, should_stop: ShouldStop = never, is_turn_over: ShouldStop = never
) -> bool:
    """Go on with a job until it ends, is to stop, or has had its turn.

    Args:
        should_stop: Asked between files, those that are only listed included.
        is_turn_over: Asked between files that are taken in.

    Returns:
        Whether nothing is left to do: it has ended, was cancelled, or another process is at it.
    """
    with held(job_id) as is_mine:
        if not is_mine:
            return True
        job = begin_job(job_id, should_stop=should_stop)
        if job is None:
            return True
        for _ in run_items(job, should_stop=lambda: should_stop() or is_turn_over()):
            pass
        return finish_job(job)


def begin_job(job_id: UUID, *, should_stop: ShouldStop = never) -> Job | None:
    """List the items of a job, unless that is done; None where it is not to be run."""
    with transaction.atomic():
        job = Job.objects.select_for_update().unfinished().filter(pk=job_id).first()
        if job is None:
            return None
        job.status = Job.Status.RUNNING
        job.started_at = job.started_at or timezone.now()
        job.start_count += 1
        job.stage = _stage(job)
        if not job.is_listed and (reason := _refusal(job)):
            close_job(job, Job.Status.FAILED, reason=reason)
            return None
        job.save(update_fields=["status", "started_at", "start_count", "stage"])
    if not job.is_listed:
        plan_sync(job, should_stop=should_stop)
        Job.objects.filter(pk=job_id, stage=Job.Stage.LISTING).update(stage=Job.Stage.INGESTING)
    return Job.objects.select_related("collection").filter(pk=job_id).first()


def _stage(job: Job) -> Job.Stage:
    if job.kind != Job.Kind.SYNC:
        return Job.Stage.MAPPING if job.kind == Job.Kind.MAP else Job.Stage.EMBEDDING
    return Job.Stage.INGESTING if job.is_listed else Job.Stage.LISTING


def _refusal(job: Job) -> str:
    """A folder that is not there may be one that is not mounted: nothing is removed for it."""
    missing = [path for path in job.arguments["paths"] if not os.path.lexists(path)]
    if missing:
        return f"There is no {missing[0]}."
    return "Listing the files was broken off again and again." * (job.start_count > MAX_STARTS)


def run_items(job: Job, *, should_stop: ShouldStop) -> Iterator[JobItem]:
    """Claim and end items, also beside other runners, and yield each that has ended."""
    with runner() as number:
        while not should_stop():
            item = claim_item(job.pk, number=number)
            if item is None:
                return
            result = _RUN[item.job.kind](item)
            if result is None:
                return
            end_item(item, result)
            yield item


def _run_file(item: JobItem) -> FileResult | None:
    path, job = Path(item.path), item.job
    try:
        options = SyncOptions.from_json(job.arguments)
        return bring_file(
            path,
            collection=job.collection,
            options=options,
            on_embedding=lambda: JobItem.objects.reached(item.pk, JobItem.Stage.EMBEDDING),
        )
    except CollectionNotFound:
        return None
    except (PkbError, OSError) as exc:
        return FileResult(path, Outcome.FAILED, reason=reason_of(exc))


def _run_document(item: JobItem) -> FileResult | None:
    """None where the embedder is not back yet: the item is claimed again some time later."""
    path = Path(item.path)
    documents = Document.objects.select_related("collection").defer("raw_text", "outline")
    document = documents.filter(pk=item.path).first()
    if document is None:
        return FileResult(path, Outcome.REMOVED)
    try:
        count = complete_document(document)
    except BackendError as exc:
        if item.attempts < MAX_ATTEMPTS:
            return None
        documents.filter(pk=document.pk).update(status=Document.Status.FAILED, error=reason_of(exc))
        return FileResult(path, Outcome.FAILED, str(document.pk), reason=reason_of(exc))
    key = str(document.pk)
    return FileResult(path, Outcome.REPLACED, key, document.chunk_count, count)


def _run_vectors(item: JobItem) -> FileResult | None:
    """Embed a document by another model; None where the embedder is not back yet."""
    path = Path(item.path)
    document = Document.objects.only("id").filter(pk=item.path).first()
    if document is None:
        return FileResult(path, Outcome.REMOVED)
    try:
        count = bring_vectors(document, model=item.job.arguments["model"])
    except BackendError as exc:
        if item.attempts < MAX_ATTEMPTS:
            return None
        return FileResult(path, Outcome.FAILED, str(document.pk), reason=reason_of(exc))
    return FileResult(path, Outcome.REPLACED, str(document.pk), encoded_count=count)


def _run_map(item: JobItem) -> FileResult:
    draw_map(item.job.collection)
    return FileResult(Path(item.path), Outcome.REPLACED)


# What returns None leaves its item open: it is claimed again some time later.
_RUN: dict[str, Callable[[JobItem], FileResult | None]] = {
    Job.Kind.SYNC: _run_file,
    Job.Kind.EMBED: _run_document,
    Job.Kind.REEMBED: _run_vectors,
    Job.Kind.MAP: _run_map,
}


def finish_job(job: Job) -> bool:
    """End a job that has no item left, removing what is gone from its folder.

    Returns:
        Whether it has ended.
    """
    unlisted = Job.objects.unfinished().filter(pk=job.pk, is_listed=False)
    if unlisted.exists() or job.items.pending().exists():
        return not Job.objects.unfinished().filter(pk=job.pk).exists()
    Job.objects.unfinished().filter(pk=job.pk).update(stage=Job.Stage.REMOVING)
    if job.kind == Job.Kind.SYNC:
        remove_gone(job)
    with transaction.atomic():
        locked = Job.objects.select_for_update().unfinished().filter(pk=job.pk).first()
        if locked is not None:
            status = Job.Status.FAILED if locked.failed else Job.Status.SUCCEEDED
            close_job(locked, status)
    return True


def remove_gone(job: Job) -> None:
    """Remove the documents of files that are not in the mirrored folder any more."""
    options = SyncOptions.from_json(job.arguments)
    for root in options.roots if options.mirror else []:
        below = Document.objects.filter(collection_id=job.collection_id).below(root.as_uri())
        for pk, path in list(below.exclude(file_path="").values_list("pk", "file_path")):
            # One row at a time, each checked now: a file that is merely closed to us is not gone.
            if root.is_dir() and _is_gone(Path(path)):
                _remove(job, pk, path)


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


@transaction.atomic
def _remove(job: Job, document_id: UUID, path: str) -> None:
    deleted, _ = Document.objects.filter(pk=document_id, file_path=path).delete()
    if not deleted or job.items.filter(path=path).exists():
        return
    JobItem.objects.create(
        job=job,
        path=path,
        status=JobItem.Status.DONE,
        outcome=Outcome.REMOVED,
        document_id=document_id,
        ended_at=timezone.now(),
    )
    Job.objects.filter(pk=job.pk).update(total=F("total") + 1, done=F("done") + 1)
