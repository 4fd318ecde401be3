"""The engine ``pkb.embedded``: Django's Postgres engine on the embedded server."""

from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base

from pkb.embedded.keeping import Keeper
from pkb.postgres import EmbeddedPostgres

DATABASE_NAME = "pkb"


@cache
def _server(state_dir: Path) -> EmbeddedPostgres:
    """The server of this process, started, with the database in it."""
    server = EmbeddedPostgres(state_dir)
    server.start()
    server.ensure_database(DATABASE_NAME)
    return server


@cache
def _keeper(state_dir: Path) -> Keeper:
    return Keeper(_server(state_dir))


class DatabaseWrapper(base.DatabaseWrapper):
    """Starts the server before a connection is made, should nobody have done so."""

    def get_connection_params(self) -> dict[str, Any]:
        server = _server(settings.PKB_POSTGRES_DIR)
        self.settings_dict.update(server.connection_settings(self.settings_dict["NAME"]))
        params: dict[str, Any] = super().get_connection_params()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        _keeper(settings.PKB_POSTGRES_DIR).keep_running()
        return super().get_new_connection(conn_params)
