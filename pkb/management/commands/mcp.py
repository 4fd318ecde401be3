from typing import Any

import httpx2
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from corpus.access.principal import Principal, acting_as
from corpus.errors import PkbError
from pkb.preload import start_loading
from qa.api.mcp.transport import admit_agent
from qa.checks import CONFIGURATION
from qa.management.running_server import connect_server

# IP address of the MCP client, which starts this process.
LOOPBACK = "127.0.0.1"


class Command(BaseCommand):
    help = (
        "Offer the MCP tools list_collections, search, fetch, answer and ingest over standard "
        "input and output. A running server of this installation does the work, if there is one."
    )
    requires_system_checks = [CONFIGURATION]

    def handle(self, *args: Any, **options: Any) -> None:
        from qa.api.mcp.mcp_server import build_server  # noqa: PLC0415  (the import takes a second)

        principal = _admit()
        running = connect_server()
        if running is None:
            start_loading()
        else:
            running.close()
        with acting_as(principal):
            build_server(_connect_admitted, scopes=principal.scopes).run("stdio")


def _connect_admitted() -> httpx2.Client | None:
    """Check the key again, and connect to the server for one call.

    Raises:
        ToolError: The key was revoked or has expired.
    """
    try:
        _admit()
    except CommandError as exc:
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415

        raise ToolError(str(exc)) from exc
    return connect_server()


def _admit() -> Principal:
    """Return the principal of the agent.

    Raises:
        CommandError: A login is required, and ``PKB_API_KEY`` is not valid.
    """
    bearer = {"authorization": f"Bearer {settings.PKB_API_KEY}"} if settings.PKB_API_KEY else {}
    try:
        return admit_agent(bearer, peer=LOOPBACK)
    except PkbError as exc:
        raise CommandError(f"PKB_API_KEY: {exc}") from exc
