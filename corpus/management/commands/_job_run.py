"""Run the job of a command, in one or several processes, and stop it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from time import sleep
from types import FrameType
from typing import Any

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


class Interruption(AbstractContextManager["Interruption"]):
    """Turns the first Ctrl-C into a stop after the current file; the second exits at once."""

    def __init__(self) -> None:
        self._was_asked = False
        self._before: Any = None

    def __enter__(self) -> "Interruption":
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def is_set(self) -> bool:
        return self._was_asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._was_asked = True
        signal.signal(signal.SIGINT, self._before)
        sys.stderr.write("\nStopping after the current file. Press Ctrl-C again to stop now.\n")


def run_job_here(
    job: Job, *, workers: int, report: Report, should_stop: Callable[[], bool]
) -> None:
    """Run a job to its end in this process, or in ``workers`` child processes."""
    with job_lock(job.pk):
        if begin_job(job.pk, should_stop=should_stop) is not None:
            seen = ItemTracker(job)
            # The number of pages of a site grows during the sync.
            if job.kind != Job.Kind.CRAWL:
                waiting = job.items.pending().values_list("path", flat=True)
                report.expect(waiting, file_count=job.items.count())
            for item in seen.new_items():
                report.add(item.path, _result(item))
            ended = (
                run_items(job, should_stop=should_stop, on_begin=report.at_work)
                if workers == 1
                else run_in_processes(job, workers, should_stop, on_begin=report.at_work)
            )
            for item in ended:
                seen.add(item)
                report.add(item.path, _result(item))
            if not finish_job(job):
                cancel_job(job.pk)
            for item in seen.new_items():
                report.add(item.path, _result(item))
    job.refresh_from_db()
    report.skip(job.skipped)


class ItemTracker:
    """Finds finished items of a job that were not shown yet."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._ids: set[int] = set()

    def add(self, item: JobItem) -> None:
        self._ids.add(item.pk)

    def new_items(self) -> list[JobItem]:
        ended = self._job.items.exclude(status=JobItem.Status.PENDING)
        items = [item for item in ended.order_by("ended_at", "pk") if item.pk not in self._ids]
        self._ids.update(item.pk for item in items)
        return items


def _result(item: JobItem) -> ItemResult:
    return ItemResult(
        Outcome(item.outcome),
        str(item.document_id or ""),
        item.chunk_count,
        item.encoded_count,
        item.reason,
    )


def run_in_processes(
    job: Job,
    count: int,
    should_stop: Callable[[], bool],
    *,
    on_begin: Callable[[JobItem], None] = lambda item: None,
) -> Iterator[JobItem]:
    """Yield items when worker processes finish them; dead workers are replaced."""
    seen = ItemTracker(job)
    seen.new_items()
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
                yield from seen.new_items()
                if at_work := job.items.at_work().first():
                    on_begin(at_work)
                sleep(POLL_S)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        yield from seen.new_items()
