import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.erasure.leftovers import find_leftovers
from corpus.errors import PkbError
from corpus.models import Tombstone


class Command(BaseCommand):
    help = (
        "Search every column of the database for remains of a deleted text; exit 1 if any "
        "are found. Without a hash, list the deleted texts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sha256", nargs="?", help="content_sha256 of the text")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["sha256"] is None:
            for tombstone in Tombstone.objects.defer("hashes").iterator():
                self.stdout.write(f"{tombstone.erased_at:%Y-%m-%d %H:%M} {tombstone}")
            return
        if not re.fullmatch("[0-9a-f]{64}", options["sha256"]):
            raise CommandError("The SHA-256 must be 64 hexadecimal digits.", returncode=2)
        try:
            leftovers = find_leftovers(options["sha256"])
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        for column, count in leftovers.rows.items():
            self.stdout.write(f"{column}: {count} rows")
        for key, count in leftovers.documents.items():
            self.stdout.write(f"also in document {key}: {count} of {leftovers.kept_count} shingles")
        row_count = sum(leftovers.rows.values())
        self.stdout.write(f"{row_count} rows contain words of the deleted text")
        if leftovers.rows:
            raise SystemExit(1)
