"""Make a collection mirror a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

from corpus.ingestion.file_sync import SyncOptions
from corpus.jobs.kinds.sync import start_sync
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
    """Bring in what is new and changed below a folder, and remove what is gone from it.

    An unchanged file is not loaded, a renamed one keeps its document, and one that fails stops
    no other; documents from elsewhere are left alone.

    Returns:
        The job, with what became of each file in its items.
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
