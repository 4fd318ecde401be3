from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from pkb.env import BASE_DIR


class Command(BaseCommand):
    help = "Migrate, create the administrator, ingest a folder and ask a question, in one process."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--documents",
            type=Path,
            default=BASE_DIR / "data" / "documents",
            help="folder to ingest; default: data/documents",
        )
        parser.add_argument(
            "--question", default="What is training-serving skew?", help="question to ask"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        call_command("ensure_superuser")
        call_command("ingest", str(options["documents"]))
        self.stdout.write(f"\nQuestion: {options['question']}\n")
        call_command("ask", options["question"])
