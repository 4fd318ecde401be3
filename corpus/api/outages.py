"""What is told while the database is away."""

import structlog
from django.db import InterfaceError, OperationalError

from corpus.errors import DatabaseUnavailable

log = structlog.get_logger(__name__)

# A pool that has no connection to give in time is an OperationalError, too.
DATABASE_AWAY = (OperationalError, InterfaceError)


def report_outage(error: Exception) -> DatabaseUnavailable:
    """Say in the log how the database failed, and return what to tell who asked."""
    log.error("database_unavailable", reason=" ".join(str(error).split()))
    return DatabaseUnavailable("The database does not answer; try again soon.")
