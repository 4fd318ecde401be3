from typing import Any

from django.core.management.base import BaseCommand

from pkb.preload import start_warming
from qa.checks import CONFIGURATION


class Command(BaseCommand):
    help = "Offer the tools search, fetch, answer and ingest to an agent, over stdin and stdout."
    requires_system_checks = [CONFIGURATION]

    def handle(self, *args: Any, **options: Any) -> None:
        from qa.api.mcp.server import build_server  # noqa: PLC0415  (the SDK takes a second)

        start_warming()
        build_server().run("stdio")
