from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.ingestion.bulk.chunk_files import VERSION, FailedEntry, Header, write_chunk_file
from corpus.ingestion.bulk.load import cut_files
from corpus.ingestion.file_scan import find_files
from corpus.ingestion.mirror import ingest_fingerprint
from corpus.models import DEFAULT_COLLECTION, Collection
from corpus.tags import normalize_tags


class Command(BaseCommand):
    help = (
        "Load a folder and cut it into chunks; write a JSON file for `manage.py embed`. Exit "
        "0: all loaded; 1: some files failed, each listed with its reason; 2: wrong usage."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH", help="the folder")
        parser.add_argument(
            "--output", type=Path, required=True, metavar="chunks.json", help="file to write"
        )
        parser.add_argument(
            "--collection", default=DEFAULT_COLLECTION, help="use its chunk settings"
        )
        parser.add_argument("--tag", action="append", default=[], help="add a tag; repeatable")

    def handle(self, *args: Any, **options: Any) -> None:
        path, output = options["path"].resolve(), options["output"]
        try:
            collection = Collection.objects.get_named(options["collection"])
            tags = normalize_tags(options["tag"])
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        if not path.exists():
            raise CommandError(f"No such file: {path}", returncode=2)
        header = Header(
            version=VERSION,
            collection=collection.qualified_name,
            embedding_model=collection.embedding_model,
            tags=tags,
            settings_sha256=ingest_fingerprint(collection, tags=tags),
        )
        # The output of an earlier run may be below the folder.
        written = output.resolve()
        entries = cut_files(
            (file for file in find_files([path]) if file.path != written),
            root=path if path.is_dir() else path.parent,
            collection=collection,
            tags=tags,
        )
        loaded = failed = chunk_count = 0
        try:
            for entry in write_chunk_file(output, header=header, entries=entries):
                if isinstance(entry, FailedEntry):
                    failed += 1
                    self.stderr.write(f"failed: {entry.path}: {entry.reason}")
                else:
                    loaded += 1
                    chunk_count += len(entry.chunks)
        except OSError as exc:
            raise CommandError(f"{output} cannot be written: {exc}", returncode=2) from exc
        self.stdout.write(
            f"{loaded + failed} files: {loaded} loaded, {failed} failed; "
            f"{chunk_count} chunks in {output}"
        )
        if failed:
            raise SystemExit(1)
