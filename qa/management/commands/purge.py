from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from qa.retention import purge

MAX_DAYS = 36_500


class Command(BaseCommand):
    help = "Delete expired sessions and streams, and answers older than a number of days."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days", type=_days, help="default: PKB_RETENTION_DAYS; if unset, keep answers"
        )
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        counts = purge(days=options["days"], dry_run=options["dry_run"])
        counted = ", ".join(f"{count} {name}" for name, count in counts.items())
        would_be = "would be " if options["dry_run"] else ""
        self.stdout.write(f"{counted} {would_be}removed")


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) <= MAX_DAYS):
        raise ArgumentTypeError(f"a whole number of days, at most {MAX_DAYS}")
    return int(text)
