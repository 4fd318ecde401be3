"""Errors in OpenAI's format, converted from problem details."""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

ExceptionHandler = Callable[[Exception, dict[str, Any]], Response | None]

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAIErrorDetail(serializers.Serializer[Any]):
    message = serializers.CharField()
    type = serializers.CharField()
    param = serializers.CharField(allow_null=True, help_text="the invalid field, if there is one")
    code = serializers.CharField(allow_null=True)


class OpenAIError(serializers.Serializer[Any]):
    """An error in OpenAI's format."""

    error = OpenAIErrorDetail()


def in_openai_shape(handler: ExceptionHandler) -> ExceptionHandler:
    """Return ``handler`` with its response bodies in OpenAI's format."""

    def handle(exc: Exception, context: dict[str, Any]) -> Response | None:
        response = handler(exc, context)
        if response is not None:
            response.data = openai_error(response.data)
            response.content_type = "application/json"
        return response

    return handle


def openai_error(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Convert problem details to OpenAI's format; ``param`` is the first invalid field."""
    status = problem["status"]
    default = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004
    fields = [error["field"] for error in problem.get("errors", ())]
    return {
        "error": {
            "message": problem["detail"],
            "type": _TYPES.get(status, default),
            "param": fields[0] if fields else None,
            "code": problem["error"],
        }
    }
