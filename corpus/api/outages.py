"""Errors for an unavailable database or disk, or a database of another version."""

import errno

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
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
    return error if isinstance(error, PkbError) else _find_outage(error)


def _find_outage(error: Exception) -> PkbError | None:
    if _is_unwritable(error):
        log.error("storage_unavailable", reason=" ".join(str(error).split()))
        return StorageUnavailable("The disk is full, or cannot be written to; nothing was kept.")
    if isinstance(error, _AWAY):
        log.error("database_unavailable", reason=" ".join(str(error).split()))
        return DatabaseUnavailable("The database does not answer; try again soon.")
    return _explain(error) if isinstance(error, ProgrammingError) else None


def _explain(error: ProgrammingError) -> PkbError | None:
    cause = error.__cause__
    if isinstance(cause, errors.InsufficientPrivilege) and _BY_POLICY in str(cause):
        return NotAllowed("You may read this collection, but not change it.")
    if isinstance(cause, _LACKING) and not is_migrated():
        log.error("database_not_migrated", reason=" ".join(str(error).split()))
        return NotReady("The database is not migrated; run manage.py migrate.")
    return None


def _is_unwritable(error: Exception) -> bool:
    """Return whether the disk of our files or of Postgres is full or read-only."""
    if isinstance(error, OSError):
        return error.errno in _UNWRITABLE
    return isinstance(error.__cause__, errors.DiskFull)


def is_migrated() -> bool:
    """Return whether the database is available and fully migrated."""
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError:
        return False
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
