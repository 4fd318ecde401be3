"""Requests rejected before their content is read."""

from corpus.errors.base import PkbError


class NotLoggedIn(PkbError):
    """A login or a valid API key is needed."""

    status = 401
    code = "unauthorized"
    challenge = 'Bearer realm="pkb"'


class NotAllowed(PkbError):
    """Permission denied."""

    status = 403
    code = "forbidden"
    challenge = 'Bearer realm="pkb", error="insufficient_scope"'


class LoginRefused(PkbError):
    """The login was rejected."""

    status = 403
    code = "login_refused"


class PathIngestionOff(PkbError):
    """Adding files of the server over HTTP is turned off."""

    status = 403
    code = "path_ingestion_off"


class FetchingOff(PkbError):
    """Fetching URLs is turned off."""

    status = 403
    code = "fetching_off"


class TooLarge(PkbError):
    """The request or the file is too large."""

    status = 413
    code = "too_large"


class NoRoomLeft(PkbError):
    """The owner of the collection has reached the limit of documents or bytes."""

    status = 413
    code = "no_room_left"


class TooManyJobs(PkbError):
    """You have reached your limit of unfinished jobs."""

    status = 429
    code = "too_many_jobs"
    retry_after_s = 20


class UnsupportedMediaType(PkbError):
    """No loader reads this media type."""

    status = 415
    code = "unsupported_media_type"


class ClientDisconnected(PkbError):
    """The client disconnected before the answer was ready."""

    status = 499
    code = "asker_left"
