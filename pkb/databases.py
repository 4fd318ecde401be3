"""Which Postgres is used: a given one, or the embedded one."""

import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from corpus.postgres.standby import REPLICA
from pkb.env import Env
from pkb.postgres import APPLICATION, OWNER

# Seconds that a request waits for a database connection. Admission lets no more in.
REQUEST_WAIT_S = 2.0
# The same for the standby: in its place there is the primary.
REPLICA_WAIT_S = 0.5


def read_databases(env: Env, data_dir: Path) -> tuple[dict[str, dict[str, Any]], Path | None]:
    """Return Django's DATABASES and the folder of the embedded Postgres.

    A standby is among them as ``replica`` where one is named. The folder is None where the
    environment names a server: then nothing of the embedded one runs.

    Raises:
        SystemExit: DATABASE_URL or PKB_REPLICA_URL is no Postgres address.
    """
    postgres_dir = None
    if env.database_url is not None:
        database = _parse_url(env.database_url, "DATABASE_URL") | _owner(env)
    elif env.postgres_host:
        database = {
            "ENGINE": "pkb.postgres.external",
            "NAME": env.postgres_db,
            "USER": env.postgres_user,
            "PASSWORD": env.postgres_password.get_secret_value(),
            "HOST": env.postgres_host,
            "PORT": env.postgres_port,
            **_owner(env),
        }
    else:
        postgres_dir = choose_postgres_dir(data_dir)
        database = {
            "ENGINE": "pkb.postgres.embedded",
            "NAME": "pkb",
            "USER": APPLICATION,
            "OWNER": {"USER": OWNER},
        }
    database["OPTIONS"] = {**database.get("OPTIONS", {}), **_options(env)}
    # The pool looks at a connection before it hands it on: one that was cut while it lay there
    # is no reason to refuse a request.
    database["CONN_HEALTH_CHECKS"] = True
    databases = {"default": database}
    if env.pkb_replica_url is not None:
        databases[REPLICA] = replica_settings(database, env.pkb_replica_url)
    return databases, postgres_dir


def replica_settings(primary: Mapping[str, Any], url: SecretStr) -> dict[str, Any]:
    """Return Django's settings of a standby; whoever serves tells it, too, who acts.

    Nobody waits for it as for the primary, which is read where it does not answer.
    """
    replica = _parse_url(url, "PKB_REPLICA_URL")
    options = f"{primary['OPTIONS']['options']} -c default_transaction_read_only=on"
    pool = {**primary["OPTIONS"]["pool"], "timeout": REPLICA_WAIT_S}
    # Its host may vanish while it is waited for, when nothing is sent that could be timed.
    alive = {"keepalives_idle": 3, "keepalives_interval": 1, "keepalives_count": 2}
    given = {"connect_timeout": 2, "tcp_user_timeout": 3_000, **alive, **replica["OPTIONS"]}
    # In tests of Django's there is no second database.
    mirrored = {"TEST": {"MIRROR": "default"}}
    return {
        **replica,
        **mirrored,
        "OPTIONS": {**given, "options": options, "pool": pool},
        "CONN_HEALTH_CHECKS": True,
    }


def choose_postgres_dir(data_dir: Path) -> Path:
    """Return where the embedded Postgres keeps its files: in the data folder, if it can.

    Root starts it under a system user, who may not be let into root's folders; then it is a
    folder below ``/var/lib/pkb`` that is named after the data folder.
    """
    wanted = data_dir / "postgres"
    standing = [path for path in (wanted, *wanted.parents) if path.exists()]
    is_open = all(path.stat().st_mode & stat.S_IXOTH for path in standing if path != wanted)
    if os.geteuid() != 0 or is_open:
        return wanted
    return Path("/var/lib/pkb") / sha256(str(wanted).encode()).hexdigest()[:12]


def set_request_timeouts(databases: Mapping[str, dict[str, Any]], settings: Any) -> None:
    """Bound what a request may wait for in the database; to be called before it is used.

    Only a process that serves does so: migrations, builds of indexes and the jobs of workers
    take their time.
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


def _options(env: Env) -> dict[str, Any]:
    # A filter must not starve a vector search: the index goes on scanning until the limit is
    # reached (pgvector 0.8). relaxed_order returns rows slightly out of order; they are sorted
    # again where they are read.
    # Pages are mostly in memory. By Postgres' own costs for them each chunk of the collection is
    # asked for a third of questions' words, and not the index of words (docs/decisions/0013).
    search = (
        f"-c hnsw.ef_search={env.pkb_hnsw_ef_search}"
        " -c hnsw.iterative_scan=relaxed_order -c jit=off"
        " -c seq_page_cost=0.3 -c random_page_cost=0.33"
    )
    pool = {"min_size": 0, "max_size": env.pkb_db_pool_size, "timeout": 10, "max_idle": 60}
    return {"options": search, "pool": pool}


def _owner(env: Env) -> dict[str, Any]:
    """By which role tables are made, where it is another; ``as_owner`` reads it."""
    if not env.postgres_owner:
        return {}
    password = env.postgres_owner_password.get_secret_value()
    return {"OWNER": {"USER": env.postgres_owner, "PASSWORD": password}}


def _parse_url(url: SecretStr, setting: str) -> dict[str, Any]:
    parts = urlsplit(url.get_secret_value())
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise SystemExit(f"pkb: bad setting {setting}: postgresql://user:password@host/name")
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "pkb.postgres.external",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": options.pop("port", parts.port or ""),
        "OPTIONS": options,
    }
