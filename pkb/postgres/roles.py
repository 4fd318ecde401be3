"""The roles and the database of the embedded server, made by its superuser."""

import psycopg
import structlog
from psycopg import sql

from pkb.postgres import APPLICATION, OWNER

log = structlog.get_logger()

# Of a cluster, before its first start. pgvector is no trusted extension, so that it is put where
# every new database has it from.
FIRST_STATEMENTS = (f"CREATE ROLE {OWNER} LOGIN CREATEDB", "CREATE EXTENSION vector")
# The owner may end its sessions; it may not be the owner.
MAKE_APPLICATION = f"CREATE ROLE {APPLICATION} LOGIN ROLE {OWNER}"

# Under a policy an index is only asked by functions that are known to tell nothing of the rows that
# they pass over (docs/decisions/0041). These do not fail on anything that is stored.
LEAKPROOF = (
    "ts_match_vq(tsvector, tsquery)",
    "jsonb_path_exists_opr(jsonb, jsonpath)",
    "jsonb_contains(jsonb, jsonb)",
    "jsonb_object_field_text(jsonb, text)",
    "lower(text)",
)
MISSING_LEAKPROOF = """
SELECT wanted FROM unnest(%s::text[]) wanted, pg_proc
 WHERE pg_proc.oid = ('pg_catalog.' || wanted)::regprocedure AND NOT proleakproof
"""

# They write into the database without a table, and every role may call them unless told not to.
LARGE_OBJECTS = ("lo_create(oid)", "lo_creat(integer)", "lo_from_bytea(oid, bytea)")
FORBID_LARGE_OBJECTS = "; ".join(
    f"REVOKE EXECUTE ON FUNCTION pg_catalog.{name} FROM PUBLIC" for name in LARGE_OBJECTS
)
CAN_CREATE_LARGE_OBJECTS = (
    "has_function_privilege('public', 'pg_catalog.lo_create(oid)', 'EXECUTE')"
)

_ONE_AT_A_TIME = "SELECT pg_advisory_lock(0x706b625f726f)"
_IS_MADE = "SELECT FROM pg_roles WHERE rolname = %s"
_HAS_DATABASE = "SELECT FROM pg_database WHERE datname = %s"
_HAS_SETTINGS = """
SELECT datname FROM pg_db_role_setting LEFT JOIN pg_database ON pg_database.oid = setdatabase
 WHERE setrole = to_regrole(%s)
"""
_IS_CLOSED = f"{_HAS_DATABASE} AND NOT has_database_privilege('public', oid, 'TEMPORARY')"


def leakproof_statement(name: str) -> str:
    """Return the superuser's statement for one of ``LEAKPROOF``."""
    return f"ALTER FUNCTION pg_catalog.{name} LEAKPROOF"


def ensure_database(superuser: str, name: str) -> None:
    """Make the database ``name`` unless it is there, and what a cluster of before lacks.

    Args:
        superuser: How to connect; without a database.
    """
    with _connect(superuser, "postgres") as connection:
        _reset_role_settings(connection)
        if _is_complete(connection) and _finds(connection, _IS_CLOSED, name):
            return
        connection.execute(_ONE_AT_A_TIME)
        if not _finds(connection, _IS_MADE, APPLICATION):
            connection.execute(MAKE_APPLICATION.encode())
        is_new = not _finds(connection, _HAS_DATABASE, name)
        if not _is_complete(connection):
            for database in ("template1", *([] if is_new else [name])):
                with _connect(superuser, database) as other:
                    _mark(other)
            _mark(connection)  # the last: by it the others are known
        named, owner = sql.Identifier(name), sql.Identifier(OWNER)
        if is_new:
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(named, owner))
        # A table of the session's own would go before those that a query means.
        connection.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(named))


def _reset_role_settings(connection: psycopg.Connection) -> None:
    """Undo what the role that serves has set for its later sessions, as each role may."""
    for (database,) in connection.execute(_HAS_SETTINGS.encode(), [APPLICATION]).fetchall():
        log.warning("role_settings_removed", role=APPLICATION, database=database)
        within = (
            sql.SQL("IN DATABASE {} ").format(sql.Identifier(database)) if database else sql.SQL("")
        )
        connection.execute(
            sql.SQL("ALTER ROLE {} {}RESET ALL").format(sql.Identifier(APPLICATION), within)
        )


def _connect(superuser: str, database: str) -> psycopg.Connection:
    return psycopg.connect(superuser, dbname=database, autocommit=True)


def _is_complete(connection: psycopg.Connection) -> bool:
    is_marked = not connection.execute(MISSING_LEAKPROOF, [list(LEAKPROOF)]).rowcount
    is_marked = (
        is_marked and not connection.execute(f"SELECT WHERE {CAN_CREATE_LARGE_OBJECTS}").rowcount
    )
    return is_marked and _finds(connection, _IS_MADE, APPLICATION)


def _mark(connection: psycopg.Connection) -> None:
    for name in LEAKPROOF:
        connection.execute(leakproof_statement(name).encode())
    connection.execute(FORBID_LARGE_OBJECTS.encode())


def _finds(connection: psycopg.Connection, query: str, name: str) -> bool:
    return connection.execute(query.encode(), [name]).rowcount > 0
