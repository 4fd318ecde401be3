"""
Errors of pkb, with the HTTP status of each.

* PkbError                         500
  x InvalidInput                   400
    - InvalidDataSet               400, names file and line
  x NotLoggedIn                    401, with WWW-Authenticate
  x NotAllowed                     403, with WWW-Authenticate
  x LoginRefused                   403
  x PathIngestionOff               403
  x FetchingOff                    403
  x NotFound                       404
    - CollectionNotFound           404
    - GrantNotFound                404
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
  x NoRoomLeft                     413
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
  x TooManyJobs                    429, with Retry-After
  x ClientDisconnected                      499, seen in a stream that is read again
  x SourceUnavailable              502, seen in jobs
  x BackendError                   502
    - BackendUnavailable           503, with Retry-After
      - DatabaseUnavailable        503, with Retry-After
      - IssuerUnavailable          503, with Retry-After
    - NotReady                     503, with Retry-After
  x StorageUnavailable             507

A wrong configuration raises Django's ``ImproperlyConfigured`` at startup.
"""

from corpus.errors.backends import (
    BackendError,
    BackendUnavailable,
    DatabaseUnavailable,
    IssuerUnavailable,
    NotReady,
    SourceUnavailable,
    StorageUnavailable,
)
from corpus.errors.base import Errors, InvalidDataSet, InvalidInput, PkbError
from corpus.errors.conflicts import (
    CollectionExists,
    CollectionNotEmpty,
    CollectionProtected,
    Conflict,
    DuplicateDocument,
    IdempotencyKeyBusy,
    JobStateConflict,
    ModelNotReady,
    OriginalChanged,
    RuleExists,
    RuleIsSet,
)
from corpus.errors.content import (
    BinaryText,
    EmptyDocument,
    IdempotencyKeyReused,
    NotFetched,
    Redirected,
    TextTooLong,
    TextTooShort,
    UnprocessableContent,
    UnreadableFile,
)
from corpus.errors.not_found import (
    AnswerNotFound,
    ChatNotFound,
    CollectionNotFound,
    DocumentNotFound,
    GrantNotFound,
    JobNotFound,
    ModelNotFound,
    NotFound,
    OriginalNotFound,
    PageNotFound,
    PathNotFound,
    RuleNotFound,
    SessionNotFound,
    SiteNotFound,
    SourceNotFound,
)
from corpus.errors.requests import (
    ClientDisconnected,
    FetchingOff,
    LoginRefused,
    NoRoomLeft,
    NotAllowed,
    NotLoggedIn,
    PathIngestionOff,
    TooLarge,
    TooManyJobs,
    UnsupportedMediaType,
)

__all__ = [
    "AnswerNotFound",
    "BackendError",
    "BackendUnavailable",
    "BinaryText",
    "ChatNotFound",
    "ClientDisconnected",
    "CollectionExists",
    "CollectionNotEmpty",
    "CollectionNotFound",
    "CollectionProtected",
    "Conflict",
    "DatabaseUnavailable",
    "DocumentNotFound",
    "DuplicateDocument",
    "EmptyDocument",
    "Errors",
    "FetchingOff",
    "GrantNotFound",
    "IdempotencyKeyBusy",
    "IdempotencyKeyReused",
    "InvalidDataSet",
    "InvalidInput",
    "IssuerUnavailable",
    "JobNotFound",
    "JobStateConflict",
    "LoginRefused",
    "ModelNotFound",
    "ModelNotReady",
    "NoRoomLeft",
    "NotAllowed",
    "NotFetched",
    "NotFound",
    "NotLoggedIn",
    "NotReady",
    "OriginalChanged",
    "OriginalNotFound",
    "PageNotFound",
    "PathIngestionOff",
    "PathNotFound",
    "PkbError",
    "Redirected",
    "RuleExists",
    "RuleIsSet",
    "RuleNotFound",
    "SessionNotFound",
    "SiteNotFound",
    "SourceNotFound",
    "SourceUnavailable",
    "StorageUnavailable",
    "TextTooLong",
    "TextTooShort",
    "TooLarge",
    "TooManyJobs",
    "UnprocessableContent",
    "UnreadableFile",
    "UnsupportedMediaType",
]  # fmt: skip
