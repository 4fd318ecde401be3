import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from corpus.errors import DuplicateDocument, PkbError
from corpus.ingestion import Attributes, ingest_text
from corpus.ingestion.paths import FileResult, Outcome, find_files, ingest_path
from corpus.models import DEFAULT_COLLECTION, Collection
from corpus.tagging import normalize_tags

STDIN = Path("-")


class Command(BaseCommand):
    help = (
        "Take in files and folders; '-' reads standard input. "
        "Exit 0: all in; 1: some failed, each named with its reason; 2: wrong usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--collection", default=DEFAULT_COLLECTION)
        parser.add_argument("--tag", action="append", default=[], help="repeat it for more")
        parser.add_argument("--source", default="cli", help="a label for where this comes from")
        parser.add_argument("--dry-run", action="store_true", help="name the files, store nothing")
        parser.add_argument("--json", action="store_true", help="one JSON line a file")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            collection = Collection.objects.named(options["collection"])
            attributes = Attributes(source=options["source"], tags=normalize_tags(options["tag"]))
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        files = list(find_files(options["paths"]))
        missing = [path for path in files if path != STDIN and not path.exists()]
        if missing:
            raise CommandError(f"No such file: {', '.join(map(str, missing))}", returncode=2)
        if options["dry_run"]:
            self._list(files, as_json=options["json"])
            return
        results = (self._ingest(path, collection, attributes) for path in files)
        if self._report(results, len(files), as_json=options["json"])[Outcome.FAILED]:
            raise SystemExit(1)

    def _list(self, files: Iterable[Path], *, as_json: bool) -> None:
        for path in files:
            self.stdout.write(json.dumps({"path": str(path)}) if as_json else str(path))

    def _ingest(self, path: Path, collection: Collection, attributes: Attributes) -> FileResult:
        if path != STDIN:
            return ingest_path(path, collection=collection, attributes=attributes)
        try:
            stored = ingest_text(sys.stdin.read(), collection=collection, attributes=attributes)
        except DuplicateDocument as exc:
            return FileResult(path, Outcome.UNCHANGED, document_id=exc.document_id)
        except PkbError as exc:
            return FileResult(path, Outcome.FAILED, reason=str(exc))
        return FileResult(path, Outcome.ADDED, stored.document_id, stored.chunk_count)

    def _report(
        self, results: Iterator[FileResult], total: int, *, as_json: bool
    ) -> Counter[Outcome]:
        counts: Counter[Outcome] = Counter()
        with _progress(visible=sys.stderr.isatty() and not as_json) as progress:
            bar = progress.add_task("ingesting", total=total)
            for result in results:
                counts[result.outcome] += 1
                self._print(result, as_json=as_json)
                progress.advance(bar)
        if not as_json:
            parts = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
            self.stdout.write(f"{total} files: {parts}")
        return counts

    def _print(self, result: FileResult, *, as_json: bool) -> None:
        if as_json:
            line = {
                "path": str(result.path),
                "outcome": result.outcome,
                "document_id": result.document_id or None,
                "chunk_count": result.chunk_count,
                "reason": result.reason or None,
            }
            self.stdout.write(json.dumps(line, ensure_ascii=False))
        elif result.outcome == Outcome.FAILED:
            self.stderr.write(f"failed: {result.path}: {result.reason}")


def _progress(*, visible: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not visible,
    )
