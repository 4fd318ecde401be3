"""Database engine ``pkb.postgres.embedded``: Django's, on the embedded server."""

import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base, client

from pkb.postgres.principal import PrincipalMixin
from pkb.postgres.server import EmbeddedPostgres

RECHECK_AFTER_S = 1.0


class ServerSupervisor:
    """Starts a server again that somebody has stopped or killed.

    For a second after it answered the server is trusted: to ask forks a process of whoever asks,
    and every request would (docs/decisions/0014).
    """

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._answered_at = -RECHECK_AFTER_S

    def ensure_running(self) -> None:
        """Start the server if it no longer runs.

        Raises:
            PostgresDidNotStart: with the reason, and the end of the server's log.
        """
        if time.monotonic() - self._answered_at > RECHECK_AFTER_S:
            self._server.start()
            self._answered_at = time.monotonic()


DATABASE_NAME = "pkb"


@cache
def _server(state_dir: Path) -> EmbeddedPostgres:
    """The server of this process, started, with the database in it."""
    server = EmbeddedPostgres(state_dir)
    server.start()
    server.ensure_database(DATABASE_NAME)
    return server


@cache
def _supervisor(state_dir: Path) -> ServerSupervisor:
    return ServerSupervisor(_server(state_dir))


class DatabaseClient(client.DatabaseClient):
    """``manage.py dbshell``: knows the server's address once that is started."""

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.get_connection_params()
        super().runshell(parameters)


class DatabaseWrapper(PrincipalMixin, base.DatabaseWrapper):
    """Starts the server before a connection is made, should nobody have done so."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        server = _server(settings.PKB_POSTGRES_DIR)
        self.settings_dict.update(server.address)
        params: dict[str, Any] = super().get_connection_params()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        _supervisor(settings.PKB_POSTGRES_DIR).ensure_running()
        return super().get_new_connection(conn_params)
