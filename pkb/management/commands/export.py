from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import CollectionNotFound
from corpus.models import Collection
from pkb.backup.export import export_to
from pkb.backup.manifest import BackupError


class Command(BaseCommand):
    help = "Write all data without passwords and keys into a folder that `restore` reads."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="a new or empty folder")
        parser.add_argument(
            "--vectors",
            action="store_true",
            help="include vectors; otherwise they are computed again",
        )
        parser.add_argument("--collection", metavar="NAME", help="only this collection")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        name = options["collection"]
        try:
            collection = Collection.objects.get_named(name) if name else None
            vectors = options["vectors"]
            manifest = export_to(folder.resolve(), vectors=vectors, collection=collection)
        except (BackupError, CollectionNotFound, OSError) as exc:
            raise CommandError(str(exc)) from exc
        rows = manifest.rows
        self.stdout.write(
            f"{folder}: {rows['corpus_document']} documents, {rows['corpus_chunk']} chunks,"
            f" {rows['qa_answer']} answers, {manifest.upload_count} uploads,"
            f" {manifest.bytes:,} bytes."
        )
