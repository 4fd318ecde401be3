"""Sync a folder in the process of the test."""

from collections.abc import Callable, Sequence
from pathlib import Path

from corpus.ingestion.folder_mirror import SyncOptions
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.leases import job_lock
from corpus.jobs.run import begin_job, finish_job, run_items
from corpus.jobs.states import cancel_job
from corpus.models import Collection, Job


def sync_tree(
    folder: Path,
    *,
    collection: Collection,
    source: str = "",
    tags: Sequence[str] = (),
    force: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
) -> Job:
    """Ingest new and changed files of a folder, and delete documents of missing files.

    An unchanged file is not loaded, a renamed one keeps its document, and a failed one does not
    stop the rest. Other documents are not touched.

    Returns:
        The job; its items contain the result of each file.
    """
    options = SyncOptions(
        paths=(str(folder.resolve()),),
        mirror=True,
        force=force,
        source=source,
        tags=tuple(tags),
    )
    job = start_sync(collection, options, background=False)
    with job_lock(job.pk):
        if begin_job(job.pk, should_stop=should_stop) is not None:
            for _ in run_items(job, should_stop=should_stop):
                pass
            if not finish_job(job):
                cancel_job(job.pk)
    job.refresh_from_db()
    return job
