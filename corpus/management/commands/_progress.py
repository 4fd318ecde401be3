"""What `manage.py ingest` shows and how it stops; the work itself is corpus.ingestion's."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from time import sleep
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Sum
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from corpus.ingestion.files import SyncOptions
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.sync import start_sync
from corpus.jobs.leases import held
from corpus.jobs.run import begin_job, finish_job, run_items
from corpus.jobs.states import cancel_job
from corpus.models import Collection, Job, JobItem

POLL_S = 0.2
# Without a terminal, a plain line says so often how far it is.
LINE_EVERY = 100


class Interruption(AbstractContextManager["Interruption"]):
    """Makes the first Ctrl-C a request to stop after the file at work; the second ends at once."""

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
        sys.stderr.write("\nStopping after the file at work; Ctrl-C again ends at once.\n")


class RateColumn(ProgressColumn):
    """Files a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "-/s")


class Report:
    """Shows each file's end: a bar in a terminal, plain lines or JSON lines otherwise."""

    def __init__(self, command: BaseCommand, *, as_json: bool, is_sync: bool) -> None:
        self.counts: Counter[Outcome] = Counter()
        self._encoded_count = 0
        self._command = command
        self._as_json = as_json
        self._is_sync = is_sync
        is_live = sys.stderr.isatty() and not as_json
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TextColumn("{task.fields[failed]} failed"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not is_live,
        )
        self._bar = self._progress.add_task("listing", total=None, failed=0)
        self._progress.start()

    def expect(self, total: int) -> None:
        """Tell how many files there are."""
        self._progress.update(self._bar, description="ingesting", total=total)

    def add(self, path: str, result: ItemResult) -> None:
        """Show what became of one file."""
        self.counts[result.outcome] += 1
        self._encoded_count += result.encoded_count
        if self._as_json:
            self._command.stdout.write(json.dumps(_line(path, result), ensure_ascii=False))
        elif result.outcome == Outcome.FAILED:
            self._command.stderr.write(f"failed: {path}: {result.reason}")
        elif self._progress.disable and self.counts.total() % LINE_EVERY == 0:
            self._command.stderr.write(f"{self.counts.total()} files")
        self._progress.update(self._bar, advance=1, failed=self.counts[Outcome.FAILED])

    def add_errors(self, job: Job) -> None:
        """Show what kept a whole job from being done."""
        for error in job.errors:
            if not error["path"]:
                self.add(".", ItemResult(Outcome.FAILED, reason=error["reason"]))

    def close(self) -> None:
        """Show the sums."""
        self._progress.stop()
        if self._as_json:
            return
        shown = _OF_SYNC if self._is_sync else _OF_INGEST
        parts = ", ".join(f"{self.counts[outcome]} {outcome}" for outcome in shown)
        encoded = f"; {self._encoded_count} chunks encoded" if self._is_sync else ""
        self._command.stdout.write(f"{self.counts.total()} files: {parts}{encoded}")


_OF_INGEST = (Outcome.ADDED, Outcome.REPLACED, Outcome.UNCHANGED, Outcome.FAILED)
_OF_SYNC = (*_OF_INGEST[:-1], Outcome.RENAMED, Outcome.REMOVED, Outcome.FAILED)


def _line(path: str, result: ItemResult) -> dict[str, Any]:
    return {
        "path": path,
        "outcome": result.outcome,
        "document_id": result.document_id or None,
        "chunk_count": result.chunk_count,
        "encoded_count": result.encoded_count,
        "reason": result.reason or None,
    }


def run_job_here(
    collection: Collection,
    options: SyncOptions,
    *,
    workers: int,
    report: Report,
    should_stop: Callable[[], bool],
) -> Job:
    """Run a sync to its end in this process, or in ``workers`` processes that it looks after."""
    job = start_sync(collection, options, background=False)
    with held(job.pk):
        if begin_job(job.pk, should_stop=should_stop) is not None:
            seen = Seen(job)
            report.expect(job.items.count())
            for item in seen.new_items():
                report.add(item.path, _result(item))
            if workers == 1:
                ended: Iterator[JobItem] = run_items(job, should_stop=should_stop)
            else:
                ended = run_in_processes(job, workers, should_stop)
            for item in ended:
                seen.add(item)
                report.add(item.path, _result(item))
            if not finish_job(job):
                cancel_job(job.pk)
            for item in seen.new_items():
                report.add(item.path, _result(item))
    job.refresh_from_db()
    return job


class Seen:
    """Finds the items of a job that have ended and were not shown."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._ids: set[int] = set()

    def add(self, item: JobItem) -> None:
        self._ids.add(item.pk)

    def new_items(self) -> list[JobItem]:
        ended = self._job.items.exclude(status=JobItem.Status.PENDING)
        found = [item for item in ended.order_by("ended_at", "pk") if item.pk not in self._ids]
        self._ids.update(item.pk for item in found)
        return found


def _result(item: JobItem) -> ItemResult:
    return ItemResult(
        Outcome(item.outcome),
        str(item.document_id or ""),
        item.chunk_count,
        item.encoded_count,
        item.reason,
    )


def run_in_processes(job: Job, count: int, should_stop: Callable[[], bool]) -> Iterator[JobItem]:
    """Yield items as worker processes end them; workers that die are replaced."""
    seen = Seen(job)
    seen.new_items()
    begun = -1
    while job.items.pending().exists() and not should_stop():
        attempts = job.items.aggregate(sum=Sum("attempts"))["sum"]
        if attempts == begun:
            raise CommandError("The worker processes end without beginning a file.")
        begun = attempts
        processes = [_start_helper(job) for _ in range(min(count, job.items.pending().count()))]
        try:
            while any(process.poll() is None for process in processes) and not should_stop():
                yield from seen.new_items()
                sleep(POLL_S)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        yield from seen.new_items()


def _start_helper(job: Job) -> "subprocess.Popen[bytes]":
    threads = {"OMP_NUM_THREADS": "1", "PKB_MODEL_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603  (our own command)
        [
            sys.executable, str(settings.PKB_MANAGE), "worker",
            "--job", str(job.pk), "--parent", str(os.getpid()),
        ],
        env={**os.environ, **threads},
        stdin=subprocess.DEVNULL,
        # Ctrl-C is for the command, which then ends its helpers.
        start_new_session=True,
    )  # fmt: skip
