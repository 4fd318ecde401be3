"""
The errors the product raises, with the HTTP status each maps to.

* PkbError                         500
  x InvalidInput                   400
    - InvalidDataSet               400, names file and line
  x NotLoggedIn                    401, with WWW-Authenticate
  x NotAllowed                     403, with WWW-Authenticate
  x PathIngestionOff               403
  x FetchingOff                    403
  x NotFound                       404
    - CollectionNotFound           404
    - DocumentNotFound             404
    - JobNotFound                  404
    - SiteNotFound                 404
    - ModelNotFound                404
    - PathNotFound                 404
    - OriginalNotFound             404
    - PageNotFound                 404
    - AnswerNotFound               404
    - ChatNotFound                 404
    - SessionNotFound              404
    - RuleNotFound                 404
    - SourceNotFound               404
  x Conflict                       409
    - DuplicateDocument            409, names the document
    - CollectionExists             409
    - CollectionNotEmpty           409
    - CollectionProtected          409
    - JobStateConflict             409
    - ModelNotReady                409
    - OriginalChanged              409
    - RuleExists                   409
    - RuleIsSet                    409
    - IdempotencyKeyBusy           409, with Retry-After
  x TooLarge                       413
  x UnsupportedMediaType           415
  x UnprocessableContent           422
    - TextTooShort                 422
    - TextTooLong                  422
    - BinaryText                   422
    - EmptyDocument                422
    - UnreadableFile               422
    - NotFetched                   422
      - Redirected                 422
    - IdempotencyKeyReused         422
  x AskerLeft                      499, seen in a stream that is read again
  x SourceUnavailable              502, seen in jobs
  x BackendError                   502
    - BackendUnavailable           503, with Retry-After
      - DatabaseUnavailable        503, with Retry-After
    - NotReady                     503, with Retry-After

A wrong configuration is Django's ``ImproperlyConfigured``, raised at start-up.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

Errors = Mapping[str, Sequence["type[PkbError]"]]
"""What a view raises, by method in lower case: the OpenAPI document says it."""


class PkbError(Exception):
    """Something the product could not do."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "error"
    retry_after_s: ClassVar[int | None] = None
    # How to come back with what lacks (RFC 6750).
    challenge: ClassVar[str | None] = None

    @property
    def title(self) -> str:
        return (type(self).__doc__ or self.code).strip().splitlines()[0]

    @property
    def members(self) -> Mapping[str, Any]:
        """Further members of the error body."""
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
    """The data set is not in the form that is measured."""

    code = "invalid_data_set"


class NotLoggedIn(PkbError):
    """A login or a valid key is needed."""

    status = 401
    code = "unauthorized"
    challenge = 'Bearer realm="pkb"'


class NotAllowed(PkbError):
    """The login or key does not suffice for this."""

    status = 403
    code = "forbidden"
    challenge = 'Bearer realm="pkb", error="insufficient_scope"'


class PathIngestionOff(PkbError):
    """Files of the server are not taken in over HTTP here."""

    status = 403
    code = "path_ingestion_off"


class FetchingOff(PkbError):
    """Nothing is fetched from the internet here."""

    status = 403
    code = "fetching_off"


class NotFound(PkbError):
    """What the request names does not exist."""

    status = 404
    code = "not_found"


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


class ModelNotFound(NotFound):
    """No model has this name."""

    code = "model_not_found"

    @property
    def members(self) -> Mapping[str, Any]:
        return {"errors": [{"field": "model", "message": str(self), "code": self.code}]}


class PathNotFound(NotFound):
    """There is no such file or folder below an allowed root."""

    code = "path_not_found"


class OriginalNotFound(NotFound):
    """The document has no file: it came as text, or the file is gone."""

    code = "original_not_found"


class PageNotFound(NotFound):
    """The file has no such page to be drawn."""

    code = "page_not_found"


class AnswerNotFound(NotFound):
    """No answer has this id."""

    code = "answer_not_found"


class ChatNotFound(NotFound):
    """No chat has this id, or it is too old to be read again."""

    code = "chat_not_found"


class SessionNotFound(NotFound):
    """No conversation of this id is kept."""

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
    """The collection holds this content already."""

    code = "duplicate_document"

    def __init__(self, document_id: object) -> None:
        super().__init__(f"The same content is stored as document {document_id}.")
        self.document_id = str(document_id)

    @property
    def members(self) -> dict[str, str]:
        return {"document_id": self.document_id}


class CollectionExists(Conflict):
    """A collection of this name exists already."""

    code = "collection_exists"


class CollectionNotEmpty(Conflict):
    """The collection still holds documents."""

    code = "collection_not_empty"


class CollectionProtected(Conflict):
    """This collection cannot be deleted."""

    code = "collection_protected"


class JobStateConflict(Conflict):
    """The job is in a state in which this cannot be done."""

    code = "job_state"


class ModelNotReady(Conflict):
    """The collection has not all its vectors by this model."""

    code = "model_not_ready"


class OriginalChanged(Conflict):
    """The document's file has changed since it was taken in."""

    code = "original_changed"


class RuleExists(Conflict):
    """A rule of this name exists already."""

    code = "rule_exists"


class RuleIsSet(Conflict):
    """The rule stands in a file, and is changed there."""

    code = "rule_is_set"


class IdempotencyKeyBusy(Conflict):
    """The first request with this idempotency key is still at work."""

    code = "idempotency_key_busy"
    retry_after_s = 1


class TooLarge(PkbError):
    """The request or the file is too large."""

    status = 413
    code = "too_large"


class UnsupportedMediaType(PkbError):
    """No loader reads this media type."""

    status = 415
    code = "unsupported_media_type"


class UnprocessableContent(PkbError):
    """The content cannot be taken in."""

    status = 422
    code = "unprocessable_content"


class NotFetched(UnprocessableContent):
    """What the address names cannot be had.

    Attributes:
        answered: The status that its server answered, 0 where none came.
    """

    code = "not_fetched"

    def __init__(self, detail: str, *, answered: int = 0) -> None:
        super().__init__(detail)
        self.answered = answered


class Redirected(NotFetched):
    """The address leads to another one, which was not asked.

    Attributes:
        target: The other one, as its server names it.
        is_permanent: The server says that it will stay so.
    """

    def __init__(self, detail: str, *, target: str, answered: int) -> None:
        super().__init__(detail, answered=answered)
        self.target = target

    @property
    def is_permanent(self) -> bool:
        return self.answered in {301, 308}


class TextTooShort(UnprocessableContent):
    """The text is too short."""

    code = "text_too_short"


class TextTooLong(UnprocessableContent):
    """The text is too long."""

    code = "text_too_long"


class BinaryText(UnprocessableContent):
    """The text holds binary or control characters."""

    code = "binary_text"


class EmptyDocument(UnprocessableContent):
    """The document holds no text."""

    code = "empty_document"


class UnreadableFile(UnprocessableContent):
    """The file cannot be read as what it claims to be."""

    code = "unreadable_file"


class IdempotencyKeyReused(UnprocessableContent):
    """This idempotency key was used with another request."""

    code = "idempotency_key_reused"


class AskerLeft(PkbError):
    """Who asked did not wait for the answer."""

    status = 499
    code = "asker_left"


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


class NotReady(BackendError):
    """The service is still starting."""

    status = 503
    code = "not_ready"
    retry_after_s = 5
