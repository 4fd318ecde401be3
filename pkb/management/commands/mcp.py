from typing import Any

from django.core.management.base import BaseCommand

from pkb.preload import start_warming
from qa.checks import CONFIGURATION
from qa.management.running_server import connect_server


class Command(BaseCommand):
    help = (
        "Offer the tools search, fetch, answer and ingest to an agent, over stdin and stdout. "
        "The server of this installation does the work, if it runs and is ready."
    )
    requires_system_checks = [CONFIGURATION]

    def handle(self, *args: Any, **options: Any) -> None:
        from qa.api.mcp.server import build_server  # noqa: PLC0415  (the SDK takes a second)

        running = connect_server()
        if running is None:
            start_warming()
        else:
            running.close()
        build_server(connect_server).run("stdio")
