"""Database engine ``pkb.postgres.embedded``: Django's, on the embedded server."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base, client

from pkb.postgres.server import EmbeddedPostgres
from pkb.postgres.statement_principal import PrincipalMixin

DATABASE_NAME = "pkb"


@cache
def _start_server(state_dir: Path) -> EmbeddedPostgres:
    """Start the server, and create its database unless it exists."""
    server = EmbeddedPostgres(state_dir)
    server.start()
    server.ensure_database(DATABASE_NAME)
    return server


class DatabaseClient(client.DatabaseClient):
    """Starts the server for ``manage.py dbshell``."""

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.get_connection_params()
        super().runshell(parameters)


class DatabaseWrapper(PrincipalMixin, base.DatabaseWrapper):
    """Starts the server if necessary before it connects."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        self.settings_dict.update(_start_server(settings.PKB_POSTGRES_DIR).address)
        params: dict[str, Any] = super().get_connection_params()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        _start_server(settings.PKB_POSTGRES_DIR).ensure_running()
        return super().get_new_connection(conn_params)
