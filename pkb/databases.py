"""Database settings: an external PostgreSQL or the embedded one."""

import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pkb.env import Env
from pkb.postgres import APPLICATION, OWNER

# Seconds that a request waits for a database connection; admission control makes this rare.
REQUEST_WAIT_S = 2.0


def read_databases(env: Env, data_dir: Path) -> tuple[dict[str, dict[str, Any]], Path | None]:
    """Return Django's DATABASES and the folder of the embedded Postgres.

    OWNER of a database is the role that owns the tables, if it is another one.
    If an external server is configured, the folder is None.

    Raises:
        SystemExit: DATABASE_URL is not a PostgreSQL URL.
    """
    postgres_dir = None
    if env.DATABASE_URL is not None:
        url = urlsplit(env.DATABASE_URL.get_secret_value())
        if url.scheme not in {"postgres", "postgresql"} or not url.path.strip("/"):
            raise SystemExit("pkb: bad setting DATABASE_URL: postgresql://user:password@host/name")
        parameters: dict[str, Any] = dict(parse_qsl(url.query))
        database = {
            "ENGINE": "pkb.postgres.external",
            "NAME": unquote(url.path.lstrip("/")),
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "HOST": parameters.pop("host", unquote(url.hostname or "")),
            "PORT": parameters.pop("port", url.port or ""),
            "OPTIONS": parameters,
        }
    elif env.POSTGRES_HOST:
        database = {
            "ENGINE": "pkb.postgres.external",
            "NAME": env.POSTGRES_DB,
            "USER": env.POSTGRES_USER,
            "PASSWORD": env.POSTGRES_PASSWORD.get_secret_value(),
            "HOST": env.POSTGRES_HOST,
            "PORT": env.POSTGRES_PORT,
        }
    else:
        postgres_dir = choose_postgres_dir(data_dir)
        database = {
            "ENGINE": "pkb.postgres.embedded",
            "NAME": "pkb",
            "USER": APPLICATION,
            "OWNER": {"USER": OWNER},
        }
    if env.POSTGRES_OWNER and postgres_dir is None:
        password = env.POSTGRES_OWNER_PASSWORD.get_secret_value()
        database["OWNER"] = {"USER": env.POSTGRES_OWNER, "PASSWORD": password}
    # With a filter, a vector search must scan on until the limit is reached (pgvector 0.8).
    # relaxed_order returns rows slightly out of order; the reader sorts them.
    # Pages are mostly in memory. With the default costs, a third of word searches would scan all
    # chunks of the collection instead of the full-text index (docs/decisions/0013).
    search = (
        f"-c hnsw.ef_search={env.PKB_HNSW_EF_SEARCH}"
        " -c hnsw.iterative_scan=relaxed_order -c jit=off"
        " -c seq_page_cost=0.3 -c random_page_cost=0.33"
    )
    pool = {"min_size": 0, "max_size": env.PKB_DB_POOL_SIZE, "timeout": 10, "max_idle": 60}
    database["OPTIONS"] = {**database.get("OPTIONS", {}), "options": search, "pool": pool}
    # The pool checks each connection before use: a lost one must not fail a request.
    database["CONN_HEALTH_CHECKS"] = True
    return {"default": database}, postgres_dir


def choose_postgres_dir(data_dir: Path) -> Path:
    """Return the folder of the embedded Postgres: in the data folder, if possible.

    Root starts it as a system user. If that user may not enter the data folder, use a folder below
    ``/var/lib/pkb`` instead, named by a hash of the data folder.
    """
    folder = data_dir / "postgres"
    above = [path for path in folder.parents if path.exists()]
    if os.geteuid() != 0 or all(path.stat().st_mode & stat.S_IXOTH for path in above):
        return folder
    return Path("/var/lib/pkb") / sha256(str(folder).encode()).hexdigest()[:12]


def set_request_timeouts(databases: Mapping[str, dict[str, Any]], settings: Any) -> None:
    """Set database timeouts for requests; call this before the first connection.

    Only the server process does: migrations, index builds and jobs may take longer.
    """
    statement_ms = round(settings.PKB_STATEMENT_TIMEOUT_S * 1000)
    lock_ms = round(settings.PKB_LOCK_TIMEOUT_S * 1000)
    for database in databases.values():
        options = database["OPTIONS"]
        options["options"] += (
            f" -c statement_timeout={statement_ms} -c lock_timeout={lock_ms}"
            f" -c idle_in_transaction_session_timeout={statement_ms}"
        )
        size = options["pool"]["max_size"]
        wait_s = min(options["pool"]["timeout"], REQUEST_WAIT_S)
        options["pool"] |= {"timeout": wait_s, "max_waiting": size}
