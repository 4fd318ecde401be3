"""Progress and results of `manage.py ingest` and `manage.py sync_source`."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from corpus.file_selection import skipped_message
from corpus.ingestion.mirror import Mirror
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.models import Job, JobItem

# Interval of progress lines without a terminal.
LINE_EVERY = 100
NAME_CHARS = 32

_OF_INGEST = (Outcome.ADDED, Outcome.REPLACED, Outcome.UNCHANGED)
_OF_SYNC = (*_OF_INGEST, Outcome.RENAMED, Outcome.REMOVED)
_IF_ANY = (Outcome.REDIRECTED, Outcome.SKIPPED, Outcome.REFUSED)


class Report:
    """Shows each file's result: with a progress bar in a terminal, else as lines or JSON.

    The bar counts bytes, because long files take most of the time.
    """

    def __init__(self, command: BaseCommand, *, as_json: bool, is_sync: bool) -> None:
        self.counts: Counter[Outcome] = Counter()
        self._skipped: dict[str, int] = {}
        self._encoded_count = 0
        self._weights: dict[str, int] = {}
        self._command = command
        self._as_json = as_json
        self._is_sync = is_sync
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[ended]} of {task.fields[files]} files"),
            TextColumn("{task.fields[failed]} failed"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=as_json or not sys.stderr.isatty(),
        )
        self._bar = self._progress.add_task("listing", total=None, ended=0, files="?", failed=0)
        self._progress.start()

    def expect(self, waiting: Iterable[str], *, file_count: int) -> None:
        """Set the files to ingest, and the total number of files."""
        self._weights = dict.fromkeys(waiting, 1)
        for path in self._weights:
            with suppress(OSError):  # a missing file is reported when it is processed
                self._weights[path] = max(Path(path).stat().st_size, 1)
        total = sum(self._weights.values())
        self._progress.update(self._bar, description="", total=total, files=file_count)

    def at_work(self, item: JobItem) -> None:
        """Show the current file."""
        name = item.name
        shown = name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1]}…"
        self._progress.update(self._bar, description=shown)

    def add(self, path: str, result: ItemResult) -> None:
        """Show the result of one file."""
        self.counts[result.outcome] += 1
        self._encoded_count += result.encoded_count
        if self._as_json:
            self._write_json(line_of(path, result))
        elif result.has_failed:
            self._command.stderr.write(f"{result.outcome}: {path}: {result.reason}")
        elif self._progress.disable and self.counts.total() % LINE_EVERY == 0:
            self._command.stderr.write(f"{self.counts.total()} files")
        self._progress.update(
            self._bar,
            advance=self._weights.pop(path, 0),
            ended=self.counts.total(),
            failed=self.failed_count,
        )

    @property
    def failed_count(self) -> int:
        """Return the number of failed or rejected files."""
        return self.counts[Outcome.FAILED] + self.counts[Outcome.REFUSED]

    def skip(self, kinds: dict[str, int]) -> None:
        """Count skipped paths by kind."""
        self._skipped = kinds
        if self._as_json and kinds:
            self._write_json({"path": None, "outcome": "skipped", "kinds": kinds})

    def add_errors(self, job: Job) -> None:
        """Show the errors of a whole job."""
        for error in job.errors:
            if not error["path"]:
                self.add(".", ItemResult(Outcome.FAILED, reason=error["reason"]))

    def finish(self, *, is_stopped: bool, allow_refused: bool = False) -> None:
        """Show the totals, and exit if the command was stopped or files failed.

        Raises:
            SystemExit: 130: stopped by Ctrl-C; 1: a file failed or was rejected.
        """
        self._progress.stop()
        if not self._as_json:
            self._show_totals()
        if is_stopped:
            again = shlex.join(["manage.py", *sys.argv[1:]])
            message = f"Stopped. Added documents are kept. To resume, run: {again}"
            self._command.stderr.write(message)
            raise SystemExit(130)
        if self.counts[Outcome.FAILED] or (self.failed_count and not allow_refused):
            raise SystemExit(1)

    def _show_totals(self) -> None:
        shown = [*(_OF_SYNC if self._is_sync else _OF_INGEST)]
        shown += [each for each in _IF_ANY if self.counts[each]]
        parts = ", ".join(f"{self.counts[each]} {each}" for each in [*shown, Outcome.FAILED])
        sums = [f"{self.counts.total()} files: {parts}"]
        if self._is_sync:
            sums.append(f"{self._encoded_count} chunks encoded")
        if self._skipped:
            sums.append(skipped_message(self._skipped))
        self._command.stdout.write("; ".join(sums))

    def _write_json(self, line: dict[str, Any]) -> None:
        self._command.stdout.write(json.dumps(line, ensure_ascii=False))


def show_preview(command: BaseCommand, mirror: Mirror, *, noun: str, as_json: bool) -> None:
    """Print the expected result of each entry; without JSON, only of those that change.

    Raises:
        SourceUnavailable: The entries cannot be listed now.
    """
    counts: Counter[Outcome] = Counter()
    for name, result in mirror.preview():
        counts[result.outcome] += 1
        if as_json:
            command.stdout.write(json.dumps(line_of(name, result), ensure_ascii=False))
        elif result.outcome != Outcome.UNCHANGED:
            reason = f": {result.reason}" if result.reason else ""
            command.stdout.write(f"{result.outcome:<9} {name}{reason}")
    if not as_json:
        sums = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        command.stdout.write(f"{counts.total()} {noun} would be: {sums or 'none'}")


def line_of(path: str, result: ItemResult) -> dict[str, Any]:
    """Return the JSON fields of a file's result."""
    return {
        "path": path,
        "outcome": result.outcome,
        "document_id": result.document_id or None,
        "chunk_count": result.chunk_count,
        "encoded_count": result.encoded_count,
        "reason": result.reason or None,
    }
