"""Add operation ids, tags, examples and error responses to the OpenAPI document."""

from http import HTTPStatus
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from corpus.endpoints import Endpoint


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
        locations = {parameter["in"] for parameter in self._get_parameters()}
        statuses = {HTTPStatus.TOO_MANY_REQUESTS}
        if not self._endpoint.is_open:
            statuses |= {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        if locations - {"path"}:
            statuses.add(HTTPStatus.BAD_REQUEST)
        if "path" in locations:
            statuses.add(HTTPStatus.NOT_FOUND)
        if self._get_request_body():  # type: ignore[no-untyped-call]
            statuses |= {
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.REQUEST_TIMEOUT,
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            }
        if not getattr(self.view, "takes_any_accept", False):
            statuses.add(HTTPStatus.NOT_ACCEPTABLE)
        titles: dict[str, list[str]] = {}
        for error in getattr(self.view, "errors", {}).get(self.method.lower(), ()):
            title = (error.__doc__ or error.code).strip().splitlines()[0]
            titles.setdefault(str(error.status), []).append(title)
        descriptions = {
            **{str(status.value): status.phrase for status in statuses},
            **{status: " ".join(each) for status, each in titles.items()},
            "5XX": "Not ready, a failed model, or an internal error.",
        }
        for status, description in sorted(descriptions.items()):
            content = {"content": {media_type: schema}, "description": description}
            bodies.setdefault(status, content)
        if "query" in locations:
            # Sent by the HTTP server itself, without a body.
            too_long = HTTPStatus.REQUEST_URI_TOO_LONG
            bodies.setdefault(str(too_long.value), {"description": too_long.phrase})
        return bodies
