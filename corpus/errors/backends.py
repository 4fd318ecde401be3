"""Errors of services that pkb depends on."""

from corpus.errors.base import PkbError


class SourceUnavailable(PkbError):
    """The source cannot be read now."""

    status = 502
    code = "source_unavailable"


class BackendError(PkbError):
    """A model server failed."""

    status = 502
    code = "backend_error"


class BackendUnavailable(BackendError):
    """A model server does not answer; try again."""

    status = 503
    code = "backend_unavailable"
    retry_after_s = 5


class DatabaseUnavailable(BackendUnavailable):
    """The database does not answer; try again."""

    code = "database_unavailable"


class IssuerUnavailable(BackendUnavailable):
    """The login provider does not answer; try again."""

    code = "issuer_unavailable"


class StorageUnavailable(PkbError):
    """The data cannot be stored: the disk is full or read-only."""

    status = 507
    code = "storage_unavailable"


class NotReady(BackendError):
    """The service is still starting."""

    status = 503
    code = "not_ready"
    retry_after_s = 5
