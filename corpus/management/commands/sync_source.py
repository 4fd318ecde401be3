import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import SourceUnavailable
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.source_sync import documents_of
from corpus.jobs.kinds.source_job import find_source, list_entries, open_source, plan_entries
from corpus.jobs.leases import job_lock
from corpus.jobs.states import cancel_abandoned_jobs
from corpus.management.commands._job_run import Interruption, run_job_here
from corpus.management.commands._report import Report, line_of
from corpus.sources.source_settings import SourceSettings
from corpus.watched.due_syncs import collection_of, sync_source


class Command(BaseCommand):
    help = (
        "Sync a source of PKB_SOURCES: add, update and delete documents to match it. Exit 0: "
        "done; 1: entries failed or were rejected, or the source cannot be reached; 2: wrong "
        "usage; 130: stopped by Ctrl-C, and the same command resumes."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="name of the source in the file")
        parser.add_argument(
            "--dry-run", action="store_true", help="store nothing; list the changes"
        )
        parser.add_argument(
            "--emptied",
            action="store_true",
            help="the source was emptied on purpose: delete its documents",
        )
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object a line for each document"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = find_source(options["name"])
        if found is None:
            known = ", ".join(each.name for each in settings.PKB_SOURCES) or "none"
            message = f"There is no source {options['name']!r}; PKB_SOURCES has {known}."
            raise CommandError(message, returncode=2)
        if options["dry_run"]:
            self._preview(found, options)
            return
        cancel_abandoned_jobs()
        report = Report(self, as_json=options["json"], is_sync=True)
        job = sync_source(found.name, emptied=options["emptied"], background=False)
        with Interruption() as interruption, job_lock(job.pk) as is_mine:
            if not is_mine:
                raise CommandError(f"A worker is already syncing it: job {job.pk}.", returncode=1)
            run_job_here(job, workers=1, report=report, should_stop=interruption.is_set)
        report.add_errors(job)
        report.close()
        if interruption.is_set():
            self.stderr.write("Stopped. Added documents are kept. Run the same command to resume.")
            raise SystemExit(130)
        if report.failed_count:
            raise SystemExit(1)

    def _preview(self, found: SourceSettings, options: dict[str, Any]) -> None:
        counts: Counter[str] = Counter()
        try:
            for uri, result in _preview_results(found, may_be_empty=options["emptied"]):
                counts[result.outcome] += 1
                if options["json"]:
                    self.stdout.write(json.dumps(line_of(uri, result), ensure_ascii=False))
                elif result.outcome != Outcome.UNCHANGED:
                    self.stdout.write(f"{result.outcome:<9} {uri}")
        except SourceUnavailable as exc:
            raise CommandError(str(exc), returncode=1) from exc
        if not options["json"]:
            sums = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
            self.stdout.write(f"{counts.total()} entries would be: {sums or 'none'}")


def _preview_results(
    found: SourceSettings, *, may_be_empty: bool
) -> Iterator[tuple[str, ItemResult]]:
    """Yield each entry, and each document to delete, with its expected result."""
    collection = collection_of(found)
    with closing(open_source(found)) as source:
        entries = list_entries(source)
    for planned in plan_entries(found, collection, entries, may_be_empty=may_be_empty):
        result = planned.decision.result
        is_read = planned.decision.needs_content
        yield planned.name, ItemResult(result.outcome) if is_read else result
    gone = documents_of(found.name, collection_id=collection.pk)
    for pk, uri, marks in gone.values_list("pk", "source_uri", "metadata__mirror"):
        if marks.get("entry") not in entries:
            yield uri, ItemResult(Outcome.REMOVED, str(pk))
