"""Base of the /v1 views, with errors in OpenAI's format."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAIErrorDetail(serializers.Serializer[Any]):
    message = serializers.CharField()
    type = serializers.CharField()
    param = serializers.CharField(allow_null=True, help_text="the invalid field, if there is one")
    code = serializers.CharField(allow_null=True)


class OpenAIError(serializers.Serializer[Any]):
    """An error in OpenAI's format."""

    error = OpenAIErrorDetail()


class OpenAIView(APIView):
    """Responds in JSON whatever the client accepts, with errors in OpenAI's format."""

    error_body = OpenAIError
    error_media_type = "application/json"
    takes_any_accept = True

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        response.data = openai_error(response.data)
        response.content_type = self.error_media_type
        return response

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        return super().perform_content_negotiation(request, force=True)


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
