import json
import shlex
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import DuplicateDocument, PkbError
from corpus.ingestion import Attributes, ingest_text
from corpus.ingestion.disk import find_files
from corpus.ingestion.files import SyncOptions
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.states import close_left_behind
from corpus.management.commands._progress import Interruption, Report, run_job_here
from corpus.models import DEFAULT_COLLECTION, Collection
from corpus.tags import normalize_tags

STDIN = Path("-")
MAX_WORKERS = 64


class Command(BaseCommand):
    help = (
        "Take in files and folders; '-' reads standard input. "
        "Exit 0: all in; 1: some failed, each named with its reason; 2: wrong usage; "
        "130: stopped by Ctrl-C, and the same command goes on."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--collection", default=DEFAULT_COLLECTION)
        parser.add_argument("--tag", action="append", default=[], help="repeat it for more")
        parser.add_argument("--source", default="cli", help="a label for where this comes from")
        parser.add_argument(
            "--sync",
            action="store_true",
            help="mirror one folder: what is gone from it is removed, what was renamed moves",
        )
        parser.add_argument("--force", action="store_true", help="take in unchanged files, too")
        parser.add_argument("--workers", type=int, default=1, help="processes, each with a model")
        parser.add_argument("--dry-run", action="store_true", help="name the files, store nothing")
        parser.add_argument("--json", action="store_true", help="one JSON line a file")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            collection = Collection.objects.named(options["collection"])
            tags = normalize_tags(options["tag"])
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        named = [path for path in options["paths"] if path != STDIN]
        _check_usage(named, options)
        # A link that is named is followed, here and once.
        paths = [path.resolve() for path in named]
        if options["dry_run"]:
            self._list(paths, as_json=options["json"])
            return
        report = Report(self, as_json=options["json"], is_sync=options["sync"])
        if STDIN in options["paths"]:
            attributes = Attributes(source=options["source"], tags=tags)
            report.add("-", _ingest_stdin(collection, attributes))
        if paths:
            self._ingest(paths, collection, tags, options, report)
        report.close()
        if report.counts[Outcome.FAILED]:
            raise SystemExit(1)

    def _ingest(
        self,
        paths: list[Path],
        collection: Collection,
        tags: tuple[str, ...],
        options: dict[str, Any],
        report: Report,
    ) -> None:
        wanted = SyncOptions(
            paths=tuple(map(str, paths)),
            mirror=options["sync"],
            force=options["force"],
            source=options["source"],
            tags=tags,
        )
        close_left_behind()
        with Interruption() as interruption:
            job = run_job_here(
                collection,
                wanted,
                workers=options["workers"],
                report=report,
                should_stop=interruption.is_set,
            )
        if interruption.is_set():
            report.close()
            again = shlex.join(["manage.py", *sys.argv[1:]])
            self.stderr.write(f"Stopped. What is in stays in. To go on, run again: {again}")
            raise SystemExit(130)
        report.add_errors(job)

    def _list(self, paths: list[Path], *, as_json: bool) -> None:
        for found in find_files(paths):
            path = str(found.path)
            self.stdout.write(json.dumps({"path": path}) if as_json else path)


def _check_usage(paths: list[Path], options: dict[str, Any]) -> None:
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise CommandError(f"No such file: {', '.join(missing)}", returncode=2)
    if options["sync"] and not (len(options["paths"]) == 1 and paths and paths[0].is_dir()):
        raise CommandError("--sync mirrors exactly one folder.", returncode=2)
    if not 1 <= options["workers"] <= MAX_WORKERS:
        raise CommandError(f"--workers is 1 to {MAX_WORKERS}.", returncode=2)


def _ingest_stdin(collection: Collection, attributes: Attributes) -> ItemResult:
    try:
        stored = ingest_text(sys.stdin.read(), collection=collection, attributes=attributes)
    except DuplicateDocument as exc:
        return ItemResult(Outcome.UNCHANGED, document_id=exc.document_id)
    except PkbError as exc:
        return ItemResult(Outcome.FAILED, reason=str(exc))
    return ItemResult(Outcome.ADDED, stored.document_id, stored.chunk_count)
