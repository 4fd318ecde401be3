from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.models.installations import FILES_ON_OTHER_HOST, Installation


class Command(BaseCommand):
    help = "Show whether this host keeps the files of the installation. Exit 1: another host does."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--here",
            action="store_true",
            help="make this host keep the files; then restart pkb on all hosts",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        rows = Installation.objects
        try:
            is_home = rows.claim_files(force=True) if options["here"] else rows.owns_files()
        except OSError as exc:
            raise CommandError(f"The folder of uploads cannot be written: {exc}") from exc
        if not is_home:
            raise CommandError(FILES_ON_OTHER_HOST)
        self.stdout.write("This host keeps the files.")
