"""Errors for an unavailable database or disk, or a database of another version."""

import errno

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from psycopg import errors

from corpus.errors import (
    DatabaseUnavailable,
    NotAllowed,
    NotReady,
    PkbError,
    StorageUnavailable,
)

log = structlog.get_logger(__name__)

# A pool without a free connection raises an OperationalError too.
_AWAY = (OperationalError, InterfaceError)
# The disk or the user's quota is full, or the disk is read-only.
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
# Of a row; of a table: a role lacks grants on tables that were not migrated, too.
_BY_POLICY = "row-level security policy"
_LACKING = (errors.UndefinedTable, errors.UndefinedColumn, errors.InsufficientPrivilege)


def translate_error(error: Exception) -> PkbError | None:
    """Return the PkbError for an exception, or None if it is unexpected.

    An outage is logged with its reason.
    """
    if isinstance(error, PkbError):
        return error
    cause = error.__cause__
    reason = " ".join(str(error).split())
    # Our disk, or that of Postgres.
    is_full = isinstance(error, OSError) and error.errno in _UNWRITABLE
    if is_full or isinstance(cause, errors.DiskFull):
        log.error("storage_unavailable", reason=reason)
        return StorageUnavailable("The disk is full, or cannot be written to; nothing was kept.")
    if isinstance(error, _AWAY):
        log.error("database_unavailable", reason=reason)
        return DatabaseUnavailable("The database does not answer; try again soon.")
    if not isinstance(error, ProgrammingError):
        return None
    if isinstance(cause, errors.InsufficientPrivilege) and _BY_POLICY in str(cause):
        return NotAllowed("You may read this collection, but not change it.")
    if isinstance(cause, _LACKING) and not is_migrated():
        log.error("database_not_migrated", reason=reason)
        if _is_empty():
            return NotReady(
                "This installation is empty: is PKB_DATA_DIR set? If it is, run manage.py migrate."
            )
        return NotReady("The database is not migrated; run manage.py migrate.")
    return None


def _is_empty() -> bool:
    """Return whether nothing was ever migrated; False where a failed transaction hides it."""
    try:
        tables = connection.introspection.table_names()
    except DatabaseError:
        return False
    return MigrationRecorder.Migration._meta.db_table not in tables


def is_migrated() -> bool:
    """Return whether the database is available and fully migrated."""
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError:
        return False
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
