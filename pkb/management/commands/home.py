from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.models.installation import FILES_ON_OTHER_HOST, Installation


class Command(BaseCommand):
    help = (
        "Show whether this host has the files of the installation. Exit 1: another host has them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--here",
            action="store_true",
            help="make this the host with the files; then restart pkb on all hosts",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        rows = Installation.objects
        try:
            is_home = rows.claim_files(force=True) if options["here"] else rows.owns_files()
        except OSError as exc:
            raise CommandError(f"The upload folder is not writable: {exc}") from exc
        if not is_home:
            raise CommandError(FILES_ON_OTHER_HOST)
        self.stdout.write("This host has the files.")
