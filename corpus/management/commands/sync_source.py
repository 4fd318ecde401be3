from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import SourceUnavailable
from corpus.ingestion.source_mirror import SourceMirror
from corpus.jobs.kinds.source_job import find_source, open_source
from corpus.jobs.leases import job_lock
from corpus.jobs.states import cancel_abandoned_jobs
from corpus.management.commands._job_run import run_job_here, stop_on_interrupt
from corpus.management.commands._report import Report, show_preview
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
        source = find_source(options["name"])
        if source is None:
            known = ", ".join(each.name for each in settings.PKB_SOURCES) or "none"
            message = f"There is no source {options['name']!r}; PKB_SOURCES has {known}."
            raise CommandError(message, returncode=2)
        if options["dry_run"]:
            try:
                opened = open_source(source)
                with closing(opened.source):
                    mirror = SourceMirror(
                        opened, collection_of(source), may_be_empty=options["emptied"]
                    )
                    show_preview(self, mirror, noun="entries", as_json=options["json"])
            except SourceUnavailable as exc:
                raise CommandError(str(exc), returncode=1) from exc
            return
        cancel_abandoned_jobs()
        report = Report(self, as_json=options["json"], is_sync=True)
        job = sync_source(source.name, emptied=options["emptied"], background=False)
        with stop_on_interrupt() as interruption, job_lock(job.pk) as is_mine:
            if not is_mine:
                raise CommandError(f"A worker is already syncing it: job {job.pk}.", returncode=1)
            run_job_here(job, workers=1, report=report, should_stop=interruption.is_set)
        report.add_errors(job)
        report.finish(is_stopped=interruption.is_set())
