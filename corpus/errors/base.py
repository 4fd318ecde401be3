"""Base class of all errors, and errors of the request itself."""

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
