"""Conflicts between a request and stored data."""

from corpus.errors.base import PkbError


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
    """This collection cannot be deleted."""

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
