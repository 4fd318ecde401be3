"""A standby that streams from an embedded server."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection
from pydantic import SecretStr

from pkb.databases import replica_settings
from pkb.postgres import APPLICATION
from pkb.postgres.programs import Account, Programs
from pkb.postgres.server import SUPERUSER, EmbeddedPostgres

DATABASE = "pkb"


def programs_of(server: EmbeddedPostgres) -> Programs:
    """Return Postgres' programs, as run by the server's user."""
    owner = (server.state_dir / "data").stat()
    return Programs(server.state_dir, Account(owner.st_uid, owner.st_gid))


def at(server: EmbeddedPostgres) -> tuple[str, ...]:
    """Return how a program is told to be a server's superuser."""
    address = server.address
    return ("-U", SUPERUSER, "-h", address["HOST"], "-p", address["PORT"])


def url_of(server: EmbeddedPostgres) -> str:
    address = server.address
    return f"postgresql://{APPLICATION}@/{DATABASE}?host={address['HOST']}&port={address['PORT']}"


def standby_at(listener: socket.socket) -> dict[str, Any]:
    """Return Django's settings of a standby where somebody listens who never answers."""
    host, port = listener.getsockname()
    url = f"postgresql://pkb_app@{host}:{port}/pkb?sslmode=disable&gssencmode=disable"
    settings = replica_settings({"OPTIONS": {"options": "", "pool": {}}}, SecretStr(url))
    settings["OPTIONS"].pop("pool")
    return {**connection.settings_dict, **settings}


@contextmanager
def standby_of(primary: EmbeddedPostgres, folder: Path) -> Iterator[EmbeddedPostgres]:
    """Copy a server that runs, and have the copy follow it."""
    standby = EmbeddedPostgres(folder)
    owner = (primary.state_dir / "data").stat()
    standby.state_dir.mkdir()
    os.chown(standby.state_dir, owner.st_uid, owner.st_gid)
    copy = ("-D", str(standby.state_dir / "data"), "-R", "-c", "fast")
    programs_of(primary).check("pg_basebackup", *at(primary), *copy)
    try:
        standby.start()
        yield standby
    finally:
        standby.stop()
