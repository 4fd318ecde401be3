from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.timezone import is_naive, make_aware

from accounts.api.audit_views import find_events

CHUNK_SIZE = 1_000


class Command(BaseCommand):
    help = "Print the audit log, oldest first, one event a line, with its count if it is above 1."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since", type=_parse_time, help="such as 2026-11-21 or 2026-11-21T09:00+01:00"
        )
        parser.add_argument("--user", help="only events of this user")

    def handle(self, *args: Any, **options: Any) -> None:
        filters = {"since": options["since"], "username": options["user"]}
        events = find_events(**{name: value for name, value in filters.items() if value})
        event: Any  # with its `username`
        for event in events.reverse().iterator(CHUNK_SIZE):
            fields = [
                event.created_at.isoformat(timespec="seconds"),
                event.username or event.user_id or "",
                f"key {event.key_id}" if event.key_id else "",
                event.action, event.subject, event.status or "", event.address, event.text,
            ]  # fmt: skip
            self.stdout.write("\t".join(" ".join(str(field).split()) for field in fields))


def _parse_time(value: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except ValueError as exc:
        raise ArgumentTypeError("use a day or time, such as 2026-11-21") from exc
    return make_aware(time) if is_naive(time) else time
