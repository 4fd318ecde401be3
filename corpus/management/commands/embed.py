from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError, UnreadableFile
from corpus.ingestion.bulk.chunk_files import ChunkFile, read_chunk_file
from corpus.ingestion.bulk.embed import SOURCE, store_entries
from corpus.ingestion.folder_mirror import FolderMirror, SyncOptions
from corpus.ingestion.mirror import ingest_fingerprint
from corpus.ingestion.outcomes import Outcome
from corpus.models import Collection

DEFAULT_BATCH_SIZE = 32
MAX_BATCH_SIZE = 4_096


class Command(BaseCommand):
    help = (
        "Embed and store the chunks that `manage.py load` wrote. If interrupted, run it "
        "again: it resumes. Exit 0: done; 1: the file was changed or the model failed; 2: "
        "wrong usage."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="chunks.json", help="file of `load`")
        parser.add_argument(
            "--collection", default="", help="default: the collection it was loaded for"
        )
        parser.add_argument(
            "--batch-size", type=int, default=DEFAULT_BATCH_SIZE, help="texts to embed at a time"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["batch_size"] <= MAX_BATCH_SIZE:
            raise CommandError(f"--batch-size must be from 1 to {MAX_BATCH_SIZE}.", returncode=2)
        path = options["path"]
        try:
            chunk_file = read_chunk_file(path)
        except UnreadableFile as exc:
            raise CommandError(f"{exc} Nothing was stored.", returncode=1) from exc
        except OSError as exc:
            raise CommandError(f"{path}: {exc.strerror or exc}", returncode=2) from exc
        name = options["collection"] or chunk_file.collection
        try:
            collection = Collection.objects.get_named(name)
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        if ingest_fingerprint(collection, tags=chunk_file.tags) != chunk_file.settings_sha256:
            raise CommandError(
                f"The chunks were made with other settings than those of {name!r}; "
                f"load them again with --collection {name}.",
                returncode=2,
            )
        try:
            self._embed(chunk_file, collection, options["batch_size"])
        except PkbError as exc:
            again = "Stored documents are kept. Run the same command to resume."
            raise CommandError(f"{str(exc) or exc.title} {again}", returncode=1) from exc

    def _embed(self, chunk_file: ChunkFile, collection: Collection, batch_size: int) -> None:
        results = store_entries(
            chunk_file.documents,
            collection=collection,
            settings_sha256=chunk_file.settings_sha256,
            batch_size=batch_size,
        )
        counts: Counter[Outcome] = Counter()
        encoded_count = 0
        for entry, result in results:
            counts[result.outcome] += 1
            encoded_count += result.encoded_count
            if result.reason:
                self.stderr.write(f"{result.outcome}: {entry.file_path}: {result.reason}")
        mirror = FolderMirror(collection, SyncOptions(paths=(), source=SOURCE))
        for failed in chunk_file.failed:
            # Rows for files that could not be loaded; an earlier version stays.
            path, reason = Path(failed.path), failed.reason
            if path.is_absolute() and not path.is_dir():
                mirror.store_failure(path, reason)
        shown = (Outcome.ADDED, Outcome.REPLACED, Outcome.UNCHANGED)
        parts = ", ".join(f"{counts[outcome]} {outcome}" for outcome in shown)
        self.stdout.write(
            f"{counts.total()} documents: {parts}; {encoded_count} chunks encoded; "
            f"{len(chunk_file.failed)} files had failed to load"
        )
