"""Errors of pkb, with the HTTP status and code of each.

A wrong configuration raises Django's ``ImproperlyConfigured`` at startup.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

Errors = Mapping[str, Sequence["type[PkbError]"]]
"""Errors that a view raises, by method in lower case; for the OpenAPI document."""


class PkbError(Exception):
    """Internal error."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "error"
    retry_after_s: ClassVar[int | None] = None
    # WWW-Authenticate (RFC 6750).
    challenge: ClassVar[str | None] = None

    @property
    def title(self) -> str:
        return (type(self).__doc__ or self.code).strip().splitlines()[0]

    @property
    def members(self) -> Mapping[str, Any]:
        """Return further members of the error body."""
        return {}


class InvalidInput(PkbError):
    """The request does not match its schema."""

    status = 400
    code = "invalid_input"

    def __init__(self, detail: str, *, field: str = "") -> None:
        super().__init__(f"{field}: {detail}" if field else detail)
        self.field = field
        self.detail = detail

    @property
    def members(self) -> Mapping[str, Any]:
        if not self.field:
            return {}
        return {"errors": [{"field": self.field, "message": self.detail, "code": "invalid"}]}


class InvalidDataSet(InvalidInput):
    """The data set has the wrong format."""

    code = "invalid_data_set"


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


class NotFound(PkbError):
    """Not found."""

    status = 404
    code = "not_found"


class GrantNotFound(NotFound):
    """No grant has this id."""

    code = "grant_not_found"


class CollectionNotFound(NotFound):
    """No collection has this name."""

    code = "collection_not_found"


class DocumentNotFound(NotFound):
    """No document has this id."""

    code = "document_not_found"


class JobNotFound(NotFound):
    """No job has this id."""

    code = "job_not_found"


class SiteNotFound(NotFound):
    """No site has this id."""

    code = "site_not_found"


class GridNotFound(NotFound):
    """No grid has this id."""

    code = "grid_not_found"


class StandingQuestionNotFound(NotFound):
    """No standing question has this id."""

    code = "standing_question_not_found"


class WebhookNotFound(NotFound):
    """No webhook, or delivery of it, has this id."""

    code = "webhook_not_found"


class ModelNotFound(NotFound):
    """No model has this name."""

    code = "model_not_found"

    @property
    def members(self) -> Mapping[str, Any]:
        return {"errors": [{"field": "model", "message": str(self), "code": self.code}]}


class PathNotFound(NotFound):
    """No allowed file or folder has this path."""

    code = "path_not_found"


class OriginalNotFound(NotFound):
    """The document has no original file."""

    code = "original_not_found"


class PageNotFound(NotFound):
    """The file has no such page."""

    code = "page_not_found"


class AnswerNotFound(NotFound):
    """No answer has this id."""

    code = "answer_not_found"


class ChatNotFound(NotFound):
    """The answer stream does not exist or has expired."""

    code = "chat_not_found"


class SessionNotFound(NotFound):
    """No chat has this id."""

    code = "session_not_found"


class RuleNotFound(NotFound):
    """No rule has this id."""

    code = "rule_not_found"


class SourceNotFound(NotFound):
    """No source has this name."""

    code = "source_not_found"


class Conflict(PkbError):
    """The request conflicts with what is stored."""

    status = 409
    code = "conflict"


class DuplicateDocument(Conflict):
    """The collection already contains this content."""

    code = "duplicate_document"

    def __init__(self, document_id: object) -> None:
        super().__init__(f"The same content is stored as document {document_id}.")
        self.document_id = str(document_id)

    @property
    def members(self) -> dict[str, str]:
        return {"document_id": self.document_id}


class CollectionExists(Conflict):
    """A collection of this name already exists."""

    code = "collection_exists"


class CollectionNotEmpty(Conflict):
    """The collection still holds documents."""

    code = "collection_not_empty"


class CollectionProtected(Conflict):
    """This collection cannot be renamed or deleted."""

    code = "collection_protected"


class JobStateConflict(Conflict):
    """The state of the job does not allow this."""

    code = "job_state"


class ModelNotReady(Conflict):
    """The collection lacks vectors of this model."""

    code = "model_not_ready"


class OriginalChanged(Conflict):
    """The file has changed since it was ingested."""

    code = "original_changed"


class RuleExists(Conflict):
    """A rule of this name already exists."""

    code = "rule_exists"


class RuleIsSet(Conflict):
    """The rule comes from a file; change it there."""

    code = "rule_is_set"


class IdempotencyKeyBusy(Conflict):
    """The first request with this idempotency key is still running."""

    code = "idempotency_key_busy"
    retry_after_s = 1


class UnprocessableContent(PkbError):
    """The content is rejected."""

    status = 422
    code = "unprocessable_content"


class NotFetched(UnprocessableContent):
    """The URL cannot be fetched.

    Attributes:
        answered: HTTP status of the server's response; 0 without a response.
    """

    code = "not_fetched"

    def __init__(self, detail: str, *, answered: int = 0) -> None:
        super().__init__(detail)
        self.answered = answered


class Redirected(NotFetched):
    """The URL redirects to another one, which pkb did not fetch.

    Attributes:
        target: The other URL, as the server wrote it.
        answered: 301 and 308 are permanent.
    """

    def __init__(self, detail: str, *, target: str, answered: int) -> None:
        super().__init__(detail, answered=answered)
        self.target = target


class TextTooShort(UnprocessableContent):
    """The text is too short."""

    code = "text_too_short"


class TextTooLong(UnprocessableContent):
    """The text is too long."""

    code = "text_too_long"


class BinaryText(UnprocessableContent):
    """The text contains binary or control characters."""

    code = "binary_text"


class EmptyDocument(UnprocessableContent):
    """The document contains no text."""

    code = "empty_document"


class UnreadableFile(UnprocessableContent):
    """The file is damaged, or is not of the type it claims."""

    code = "unreadable_file"


class IdempotencyKeyReused(UnprocessableContent):
    """The idempotency key was used with another request."""

    code = "idempotency_key_reused"


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
