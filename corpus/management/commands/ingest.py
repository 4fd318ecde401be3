import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import CollectionNotFound, DuplicateDocument, PkbError
from corpus.file_selection import count_kinds, skipped_message
from corpus.ingestion.decisions import failed_result
from corpus.ingestion.document_writer import StoredDocument
from corpus.ingestion.file_scan import find_files
from corpus.ingestion.folder_mirror import FolderMirror, SyncOptions
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.submission import Attributes, Submission
from corpus.ingestion.web_addresses import ingest_url
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.states import cancel_abandoned_jobs
from corpus.management.commands._job_run import run_job_here, stop_on_interrupt
from corpus.management.commands._report import Report, show_preview
from corpus.management.commands._sites import add_site_arguments, read_limits, sync_site
from corpus.models import DEFAULT_COLLECTION, Collection
from corpus.public_web import is_url
from corpus.tags import normalize_tags

STDIN = Path("-")
MAX_WORKERS = 64
CREATE_COLLECTION = " Create it in the library, or with POST /collections."


class Command(BaseCommand):
    help = (
        "Add files, folders and web addresses; '-' reads standard input. Exit 0: all added; "
        "1: some files failed or were rejected, each listed with its reason; 2: wrong usage; "
        "130: stopped by Ctrl-C, and the same command resumes."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths", nargs="+", type=_read_source, metavar="PATH", help="file, folder or URL"
        )
        parser.add_argument(
            "--collection", default=DEFAULT_COLLECTION, help="name of the collection (default)"
        )
        parser.add_argument("--tag", action="append", default=[], help="add a tag; repeatable")
        parser.add_argument("--source", default="cli", help="value of the field `source`")
        parser.add_argument(
            "--sync",
            action="store_true",
            help="mirror one folder: add, replace, rename and delete documents to match it",
        )
        parser.add_argument("--force", action="store_true", help="read unchanged files, too")
        parser.add_argument(
            "--workers", type=int, default=1, help="number of processes, each with a model"
        )
        parser.add_argument(
            "--include",
            action="append",
            default=[],
            metavar="PATTERN",
            help="add only files whose name or path below the folder matches, such as '*.md' or "
            "'guide/*'; repeatable",
        )
        parser.add_argument(
            "--exclude",
            action="append",
            default=[],
            metavar="PATTERN",
            help="skip files and folders that match; repeatable",
        )
        parser.add_argument(
            "--allow-refused",
            action="store_true",
            help="exit 0 if the only problems are rejected files",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="store nothing; list the files, and with --sync the changes",
        )
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object a line for each file"
        )
        add_site_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            collection = Collection.objects.get_named(options["collection"])
            tags = normalize_tags(options["tag"])
        except PkbError as exc:
            hint = isinstance(exc, CollectionNotFound) * CREATE_COLLECTION
            raise CommandError(f"{exc}{hint}", returncode=2) from exc
        addresses = [place for place in options["paths"] if isinstance(place, str)]
        paths = [place for place in options["paths"] if place not in {STDIN, *addresses}]
        _check_usage(paths, options)
        sync = SyncOptions(
            # A symbolic link given as argument is resolved, once.
            paths=tuple(str(path.resolve()) for path in paths),
            mirror=options["sync"],
            force=options["force"],
            source=options["source"],
            tags=tags,
            include=tuple(options["include"]),
            exclude=tuple(options["exclude"]),
        )
        if options["dry_run"]:
            self._preview(collection, sync, as_json=options["json"])
            return
        limits = read_limits(options)
        is_mirror = options["sync"] or limits is not None
        report = Report(self, as_json=options["json"], is_sync=is_mirror)
        attributes = Attributes(source=options["source"], tags=tags)
        if STDIN in options["paths"]:
            submission = Submission(sys.stdin.read(), attributes)
            report.add(
                "-", _ingested(partial(ingest_submission, submission, collection=collection))
            )
        cancel_abandoned_jobs()
        with stop_on_interrupt() as interruption:
            for url in addresses:
                if limits is None:
                    store = partial(ingest_url, url, collection=collection, attributes=attributes)
                    report.add(url, _ingested(store))
                elif not interruption.is_set():
                    sync_site(
                        url, limits, collection=collection, tags=tags, report=report,
                        should_stop=interruption.is_set,
                    )  # fmt: skip
            if paths:
                job = start_sync(collection, sync, background=False)
                run_job_here(
                    job,
                    workers=options["workers"],
                    report=report,
                    should_stop=interruption.is_set,
                )
                if not interruption.is_set():
                    report.add_errors(job)
        report.finish(is_stopped=interruption.is_set(), allow_refused=options["allow_refused"])

    def _preview(self, collection: Collection, sync: SyncOptions, *, as_json: bool) -> None:
        if sync.mirror:
            mirror = FolderMirror(collection, sync)
            show_preview(self, mirror, noun="files", as_json=as_json)
            skipped = mirror.skipped
        else:
            kinds: Counter[str] = Counter()
            files = find_files(
                sync.named,
                selection=sync.selection,
                skipped=kinds,
                max_packed_bytes=settings.PKB_MAX_FILE_BYTES,
            )
            for path in (str(file.path) for file in files):
                self.stdout.write(json.dumps({"path": path}) if as_json else path)
            skipped = count_kinds(kinds)
        if skipped:
            self.stderr.write(skipped_message(skipped))


def _check_usage(paths: list[Path], options: dict[str, Any]) -> None:
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise CommandError(f"No such file: {', '.join(missing)}", returncode=2)
    if not any(is_url(str(place)) for place in options["paths"]) and (
        options["crawl"] or options["every"]
    ):
        raise CommandError("--crawl and --every require a URL.", returncode=2)
    if options["sync"] and not (len(options["paths"]) == 1 and paths and paths[0].is_dir()):
        raise CommandError("--sync requires exactly one folder.", returncode=2)
    if not 1 <= options["workers"] <= MAX_WORKERS:
        raise CommandError(f"--workers must be from 1 to {MAX_WORKERS}.", returncode=2)


def _read_source(argument: str) -> Path | str:
    """Return a path or URL; a path type would drop a slash of a URL."""
    return argument if is_url(argument) else Path(argument)


def _ingested(store: Callable[[], StoredDocument]) -> ItemResult:
    try:
        stored = store()
    except DuplicateDocument as exc:
        return ItemResult(Outcome.UNCHANGED, document_id=exc.document_id)
    except PkbError as exc:
        return failed_result(exc)
    outcome = Outcome.ADDED if stored.is_new else Outcome.REPLACED
    return ItemResult(outcome, stored.document_id, stored.chunk_count)
