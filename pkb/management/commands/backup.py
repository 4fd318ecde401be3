from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from pkb.backup.manifest import BackupError
from pkb.backup.rotation import make_backup


class Command(BaseCommand):
    help = (
        "Write a backup into a new folder in DIR while pkb runs, and delete all but the "
        "newest PKB_BACKUP_KEEP. It contains hashes of passwords and keys."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folder", type=Path, nargs="?", metavar="DIR", help="default: PKB_BACKUP_DIR"
        )

    def handle(self, *args: Any, folder: Path | None, **options: Any) -> None:
        folder = folder or settings.PKB_BACKUP_DIR
        if folder is None:
            raise CommandError("Name DIR or set PKB_BACKUP_DIR.", returncode=2)
        try:
            backup, manifest = make_backup(folder.resolve(), keep=settings.PKB_BACKUP_KEEP)
        except (BackupError, DatabaseError, OSError) as exc:
            raise CommandError(f"No backup was written. {exc}") from exc
        rows = manifest.rows
        self.stdout.write(
            f"{backup}: {rows['corpus_document']} documents, {rows['corpus_chunk']} chunks,"
            f" {manifest.upload_count} uploads, {manifest.bytes:,} bytes."
        )
