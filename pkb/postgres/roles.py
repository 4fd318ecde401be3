"""The roles and the database of the embedded server, made by its superuser."""

import psycopg
from psycopg import sql

from pkb.postgres import APPLICATION, OWNER

# Under a policy an index is only asked by operators that are said to tell nothing of the rows they
# pass over; this one cannot fail on what is stored (docs/decisions/0040).
LET_INDEX_BE_ASKED = "ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF"
# The owner may end its sessions; it may not be the owner.
MAKE_APPLICATION = f"CREATE ROLE {APPLICATION} LOGIN ROLE {OWNER}"
# Of a cluster, before it is first started. pgvector is no trusted extension, so that it is put, as
# the other things are, where every new database has it from.
FIRST_STATEMENTS = (
    f"CREATE ROLE {OWNER} LOGIN CREATEDB",
    MAKE_APPLICATION,
    "CREATE EXTENSION vector",
    LET_INDEX_BE_ASKED,
)

_ONE_AT_A_TIME = "SELECT pg_advisory_lock(0x706b625f726f)"
_HAS_ROLE = "SELECT FROM pg_roles WHERE rolname = %s"
_HAS_DATABASE = "SELECT FROM pg_database WHERE datname = %s"


def ensure_database(superuser: str, name: str) -> None:
    """Make the database ``name``, and in a cluster of before the role it is used by.

    Args:
        superuser: How to connect; without a database.
    """

    def connect(database: str) -> psycopg.Connection:
        return psycopg.connect(superuser, dbname=database, autocommit=True)

    with connect("postgres") as connection:
        is_complete = _finds(connection, _HAS_ROLE, APPLICATION)
        if is_complete and _finds(connection, _HAS_DATABASE, name):
            return
        connection.execute(_ONE_AT_A_TIME)
        is_new = not _finds(connection, _HAS_DATABASE, name)
        if not _finds(connection, _HAS_ROLE, APPLICATION):
            for database in ("template1", *([] if is_new else [name])):
                with connect(database) as other:
                    other.execute(LET_INDEX_BE_ASKED)
            connection.execute(MAKE_APPLICATION)  # the last: by it the others are known
        if is_new:
            named, owner = sql.Identifier(name), sql.Identifier(OWNER)
            make = sql.SQL("CREATE DATABASE {} OWNER {}").format(named, owner)
            connection.execute(make)


def _finds(connection: psycopg.Connection, query: str, name: str) -> bool:
    return connection.execute(query.encode(), [name]).rowcount > 0
