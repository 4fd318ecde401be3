"""What pkb itself depends on does not do its part."""

from corpus.errors.base import PkbError


class SourceUnavailable(PkbError):
    """What a collection mirrors cannot be listed or read now."""

    status = 502
    code = "source_unavailable"


class BackendError(PkbError):
    """A model backend failed."""

    status = 502
    code = "backend_error"


class BackendUnavailable(BackendError):
    """A model backend is not answering; trying again may work."""

    status = 503
    code = "backend_unavailable"
    retry_after_s = 5


class DatabaseUnavailable(BackendUnavailable):
    """The database does not answer; trying again may work."""

    code = "database_unavailable"


class IssuerUnavailable(BackendUnavailable):
    """The login provider is not to be had; trying again may work."""

    code = "issuer_unavailable"


class StorageUnavailable(PkbError):
    """What was sent cannot be kept: the disk is full, or cannot be written to."""

    status = 507
    code = "storage_unavailable"


class NotReady(BackendError):
    """The service is still starting."""

    status = 503
    code = "not_ready"
    retry_after_s = 5
