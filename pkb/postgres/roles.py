"""Create the roles and the database of the embedded server, as its superuser."""

import psycopg
import structlog
from psycopg import sql

from pkb.postgres import APPLICATION, OWNER

log = structlog.get_logger()

# Run in a new cluster. pgvector is not a trusted extension, so it is created in template1, from
# which new databases are copied.
FIRST_STATEMENTS = (f"CREATE ROLE {OWNER} LOGIN CREATEDB", "CREATE EXTENSION vector")
# The owner may end sessions of the application role, but not the reverse.
MAKE_APPLICATION = f"CREATE ROLE {APPLICATION} LOGIN ROLE {OWNER}"

# Under row-level security, an index is used only with functions marked LEAKPROOF
# (docs/decisions/0041). These do not fail on any stored value.
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

# They write into the database without a table, and every role may call them by default.
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
    """Return the superuser's statement that marks a function of ``LEAKPROOF``."""
    return f"ALTER FUNCTION pg_catalog.{name} LEAKPROOF"


def ensure_database(superuser: str, name: str) -> None:
    """Create the database ``name`` if necessary, and update roles of an older cluster.

    Args:
        superuser: Connection string of the superuser, without a database.
    """
    with _connect(superuser, "postgres") as connection:
        # Any role may set session settings for itself.
        for (database,) in connection.execute(_HAS_SETTINGS.encode(), [APPLICATION]).fetchall():
            log.warning("role_settings_removed", role=APPLICATION, database=database)
            reset = sql.SQL(
                "ALTER ROLE {} IN DATABASE {} RESET ALL" if database else "ALTER ROLE {} RESET ALL"
            )
            names = filter(None, (APPLICATION, database))
            connection.execute(reset.format(*map(sql.Identifier, names)))
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
            _mark(connection)  # last, because it marks the cluster as complete
        named, owner = sql.Identifier(name), sql.Identifier(OWNER)
        if is_new:
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(named, owner))
        # A temporary table could shadow a table of pkb.
        connection.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(named))


def _connect(superuser: str, database: str) -> psycopg.Connection:
    return psycopg.connect(superuser, dbname=database, autocommit=True)


def _is_complete(connection: psycopg.Connection) -> bool:
    lacks_marks = connection.execute(MISSING_LEAKPROOF, [list(LEAKPROOF)]).rowcount
    is_open = connection.execute(f"SELECT WHERE {CAN_CREATE_LARGE_OBJECTS}").rowcount
    return not (lacks_marks or is_open) and _finds(connection, _IS_MADE, APPLICATION)


def _mark(connection: psycopg.Connection) -> None:
    for name in LEAKPROOF:
        connection.execute(leakproof_statement(name).encode())
    connection.execute(FORBID_LARGE_OBJECTS.encode())


def _finds(connection: psycopg.Connection, query: str, name: str) -> bool:
    return connection.execute(query.encode(), [name]).rowcount > 0
