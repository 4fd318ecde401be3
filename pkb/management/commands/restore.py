import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.utils import timezone

from corpus.jobs.run import run_job_slice
from corpus.models import Document
from pkb.backup.manifest import BackupError
from pkb.backup.restore import restore_from


class Command(BaseCommand):
    help = "Restore a backup or an export into an empty installation."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="folder of the backup or export")
        parser.add_argument(
            "--trusted",
            action="store_true",
            help="accept its administrators, passwords and keys without asking",
        )

    def handle(self, *args: Any, folder: Path, trusted: bool, **options: Any) -> None:
        try:
            manifest, jobs = restore_from(
                folder.resolve(), is_trusted=lambda contents: trusted or self._confirm(contents)
            )
        except (BackupError, DatabaseError, OSError) as exc:
            raise CommandError(f"Nothing was restored. {exc}") from exc
        rows = manifest.rows
        self.stdout.write(
            f"Restored {rows['corpus_document']} documents, {rows['corpus_chunk']} chunks,"
            f" {rows['qa_answer']} answers, {manifest.upload_count} uploads."
        )
        hours = (timezone.now() - manifest.made_at).total_seconds() / 3_600
        self.stdout.write(
            f"Data of {manifest.made_at:%Y-%m-%d %H:%M} UTC, {hours:.1f} hours ago. Delete again"
            " what was deleted since then (docs/guides/delete.md)."
        )
        if rows.get("auth_user") and not manifest.secrets:
            self.stdout.write("Users have no password. Set one: manage.py changepassword NAME.")
        if not jobs:
            return
        total = sum(job.total for job in jobs)
        self.stdout.write(
            f"Embedding {total} documents. If interrupted, `manage.py worker` continues."
        )
        for job in jobs:
            run_job_slice(job.pk)
        count = Document.objects.exclude(status=Document.Status.COMPLETED).count()
        if count:
            raise CommandError(f"{count} documents have no vectors yet. Run manage.py worker.")

    def _confirm(self, contents: str) -> bool:
        if not sys.stdin.isatty():
            return False
        self.stdout.write(
            f"It contains {contents}. Restore it only if you trust its author. Continue? [y/N] ",
            ending="",
        )
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}
