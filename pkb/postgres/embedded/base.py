"""Database engine ``pkb.postgres.embedded``: Django's, on the embedded server."""

import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base, client

from pkb.postgres.server import EmbeddedPostgres
from pkb.postgres.statement_principal import PrincipalMixin

RECHECK_AFTER_S = 1.0


class ServerSupervisor:
    """Restarts the server if it was stopped or killed.

    The server is not checked again within a second: a check forks a backend, too expensive for each
    request (docs/decisions/0014).
    """

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        self._answered_at = -RECHECK_AFTER_S

    def ensure_running(self) -> None:
        """Start the server if it no longer runs.

        Raises:
            PostgresDidNotStart: The message has the reason and the end of the server log.
        """
        if time.monotonic() - self._answered_at > RECHECK_AFTER_S:
            self.server.start()
            self._answered_at = time.monotonic()


DATABASE_NAME = "pkb"


@cache
def _supervise(state_dir: Path) -> ServerSupervisor:
    """Start the server, and create its database unless it exists."""
    server = EmbeddedPostgres(state_dir)
    server.start()
    server.ensure_database(DATABASE_NAME)
    return ServerSupervisor(server)


class DatabaseClient(client.DatabaseClient):
    """Starts the server for ``manage.py dbshell``."""

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.get_connection_params()
        super().runshell(parameters)


class DatabaseWrapper(PrincipalMixin, base.DatabaseWrapper):
    """Starts the server if necessary before it connects."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        self.settings_dict.update(_supervise(settings.PKB_POSTGRES_DIR).server.address)
        params: dict[str, Any] = super().get_connection_params()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        _supervise(settings.PKB_POSTGRES_DIR).ensure_running()
        return super().get_new_connection(conn_params)
