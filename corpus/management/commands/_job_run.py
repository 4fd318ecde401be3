"""Run the job of a command, in one or several processes, and stop it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from time import sleep
from types import FrameType

from django.conf import settings
from django.core.management.base import CommandError
from django.db.models import Sum

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.leases import job_lock
from corpus.jobs.run import begin_job, finish_job, run_items
from corpus.jobs.states import cancel_job
from corpus.management.commands._report import Report
from corpus.models import Job, JobItem

POLL_S = 0.2


@contextmanager
def stop_on_interrupt() -> Iterator[Event]:
    """Yield an event that the first Ctrl-C sets, to stop after a file; the second exits at once."""
    stop, before = Event(), signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)
        sys.stderr.write("\nStopping after the current file. Press Ctrl-C again to stop now.\n")

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def run_job_here(
    job: Job, *, workers: int, report: Report, should_stop: Callable[[], bool]
) -> None:
    """Run a job to its end in this process, or in ``workers`` child processes."""
    shown: set[int] = set()

    def show(items: Iterator[JobItem]) -> None:
        for item in items:
            shown.add(item.pk)
            document_id = str(item.document_id or "")
            counts = item.chunk_count, item.encoded_count
            result = ItemResult(Outcome(item.outcome), document_id, *counts, item.reason)
            report.add(item.path, result)

    with job_lock(job.pk):
        if begin_job(job.pk, should_stop=should_stop) is not None:
            # The number of pages of a site grows during the sync.
            if job.kind != Job.Kind.CRAWL:
                waiting = job.items.pending().values_list("path", flat=True)
                report.expect(waiting, file_count=job.items.count())
            show(_ended_items(job, shown))
            show(run_workers(job, workers, should_stop, on_begin=report.at_work))
            if not finish_job(job):
                cancel_job(job.pk)
            show(_ended_items(job, shown))
    job.refresh_from_db()
    report.skip(job.skipped)


def _ended_items(job: Job, shown: set[int]) -> Iterator[JobItem]:
    """Yield the ended items that are not in ``shown``, and add them to it."""
    for item in job.items.exclude(status=JobItem.Status.PENDING).order_by("ended_at", "pk"):
        if item.pk not in shown:
            shown.add(item.pk)
            yield item


def run_workers(
    job: Job,
    count: int,
    should_stop: Callable[[], bool],
    *,
    on_begin: Callable[[JobItem], None] = lambda item: None,
) -> Iterator[JobItem]:
    """Yield items when they end: run by this process, or by several, of which dead are replaced."""
    if count == 1:
        yield from run_items(job, should_stop=should_stop, on_begin=on_begin)
        return
    shown = {item.pk for item in _ended_items(job, set())}
    begun = -1
    while job.items.pending().exists() and not should_stop():
        attempts = job.items.aggregate(sum=Sum("attempts"))["sum"]
        if attempts == begun:
            raise CommandError("The worker processes stopped before reading a file. See the log.")
        begun = attempts
        processes = [
            subprocess.Popen(  # noqa: S603  (our own command)
                [sys.executable, str(settings.PKB_MANAGE), "worker",
                 "--job", str(job.pk), "--parent", str(os.getpid())],
                env={**os.environ, "OMP_NUM_THREADS": "1", "PKB_MODEL_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                # Only the command handles Ctrl-C, and then stops its helpers.
                start_new_session=True,
            )
            for _ in range(min(count, job.items.pending().count()))
        ]  # fmt: skip
        try:
            while any(process.poll() is None for process in processes) and not should_stop():
                yield from _ended_items(job, shown)
                if at_work := job.items.at_work().first():
                    on_begin(at_work)
                sleep(POLL_S)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        yield from _ended_items(job, shown)
