from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from corpus.models import Document, Installation
from pkb.env import BASE_DIR

SAMPLES = BASE_DIR / "data" / "documents"
SAMPLE_QUESTION = "What is training-serving skew?"


class Command(BaseCommand):
    help = (
        "Migrate, create the administrator, ingest a folder and ask a question, in one process. "
        "The samples are ingested once: those that you delete do not come back."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--documents",
            type=Path,
            help="folder to ingest each time; default: data/documents, the first time only",
        )
        parser.add_argument(
            "--question",
            help=f"question to ask; default: {SAMPLE_QUESTION!r}, if there are samples",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        call_command("ensure_superuser")
        installation, _ = Installation.objects.get_or_create(pk=1)
        if options["documents"] or not installation.has_had_samples:
            call_command("ingest", str(options["documents"] or SAMPLES))
        if not options["documents"]:
            Installation.objects.update(has_had_samples=True)
        has_samples = Document.objects.filter(file_path__startswith=f"{SAMPLES}/").exists()
        question = options["question"] or (SAMPLE_QUESTION if has_samples else "")
        if question:
            self.stdout.write(f"\nQuestion: {question}\n")
            call_command("ask", question)
