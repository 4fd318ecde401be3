"""Add operation ids, tags, examples and error responses to the OpenAPI document."""

from http import HTTPStatus
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from corpus.endpoints import Endpoint

UNAUTHORIZED, FORBIDDEN = 401, 403
BAD_REQUEST, NOT_FOUND, NOT_ACCEPTABLE, TOO_LATE = 400, 404, 406, 408
TOO_LARGE, TOO_LONG, BAD_TYPE, TOO_MANY = 413, 414, 415, 429
SERVER_ERRORS = "5XX"


class FieldError(serializers.Serializer[Any]):
    field = serializers.CharField()
    message = serializers.CharField()
    code = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """RFC 9457 problem details."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    error = serializers.CharField(help_text="short code")
    status_code = serializers.IntegerField(help_text="equals status")
    errors = FieldError(many=True, required=False)  # type: ignore[assignment]


class ProblemAutoSchema(AutoSchema):
    """Adds the id, tag, summary and error responses to each operation.

    Errors that follow from the request are found here. A view declares others in ``errors``, a
    mapping from a method in lower case to exceptions of ``corpus.errors``, and another shape of
    its errors in ``error_body`` and ``error_media_type``.
    """

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Return the operation, with an example of its body."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation and self._endpoint.example:
            body = operation["requestBody"]["content"]["application/json"]
            body["example"] = self._endpoint.example
        return operation

    def get_operation_id(self) -> str:
        return self._endpoint.id or str(super().get_operation_id())

    def get_tags(self) -> list[str]:
        return [self._endpoint.tag] if self._endpoint.tag else list(super().get_tags())

    def get_summary(self) -> str | None:
        return self._endpoint.summary or None

    @property
    def _endpoint(self) -> Endpoint:
        return getattr(self.view, "endpoints", {}).get(self.method) or Endpoint()

    def _get_parameters(self) -> list[dict[str, Any]]:
        """Return the parameters; optional ones may be empty, which counts as omitted."""
        parameters: list[dict[str, Any]] = super()._get_parameters()
        pages = getattr(self.view, "pagination_class", None)
        strict = {pages.page_size_query_param, pages.cursor_query_param} if pages else set()
        for parameter in parameters:
            is_list = parameter["schema"].get("type") == "array"
            if parameter["in"] != "query" or parameter.get("required") or is_list:
                continue
            if parameter["name"] not in strict:
                parameter["schema"] = {"anyOf": [parameter["schema"], {"const": ""}]}
        return parameters

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        body = getattr(self.view, "error_body", Problem)
        media_type = getattr(self.view, "error_media_type", "application/problem+json")
        schema = {"schema": self.resolve_serializer(body, "response").ref}
        for status, description in sorted(self._errors().items()):
            content = {"content": {media_type: schema}, "description": description}
            bodies.setdefault(status, content)
        if any(parameter["in"] == "query" for parameter in self._get_parameters()):
            # Sent by the HTTP server itself, without a body.
            bodies.setdefault(str(TOO_LONG), {"description": HTTPStatus(TOO_LONG).phrase})
        return bodies

    def _errors(self) -> dict[str, str]:
        """Return the descriptions of error responses by status."""
        phrases = {str(each): HTTPStatus(each).phrase for each in self._statuses_of_request()}
        descriptions = dict(phrases)
        for error in getattr(self.view, "errors", {}).get(self.method.lower(), ()):
            status, title = str(error.status), (error.__doc__ or error.code).strip().splitlines()[0]
            earlier = descriptions.get(status, "")
            is_specific = earlier and earlier != phrases.get(status)
            descriptions[status] = f"{earlier} {title}" if is_specific else title
        return {**descriptions, SERVER_ERRORS: "Not ready, a failed model, or an internal error."}

    def _statuses_of_request(self) -> set[int]:
        statuses = {TOO_MANY}
        if not self._endpoint.is_open:
            statuses |= {UNAUTHORIZED, FORBIDDEN}
        locations = {parameter["in"] for parameter in self._get_parameters()}
        if locations - {"path"}:
            statuses.add(BAD_REQUEST)
        if "path" in locations:
            statuses.add(NOT_FOUND)
        if self._get_request_body():  # type: ignore[no-untyped-call]
            statuses |= {BAD_REQUEST, TOO_LATE, TOO_LARGE, BAD_TYPE}
        if not getattr(self.view, "takes_any_accept", False):
            statuses.add(NOT_ACCEPTABLE)
        return statuses
