"""Errors for things that do not exist."""

from collections.abc import Mapping
from typing import Any

from corpus.errors.base import PkbError


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
