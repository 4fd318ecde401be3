"""Base of the /v1 views."""

from collections.abc import AsyncIterator
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from qa.api.openai.openai_errors import ExceptionHandler, OpenAIError, in_openai_shape

EVENT_STREAM = "text/event-stream"
# One event, as JSON Schema: its data is JSON.
EVENT = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}


class OpenAIView(APIView):
    """Responds in JSON whatever the client accepts, with errors in OpenAI's format."""

    error_body = OpenAIError
    error_media_type = "application/json"
    takes_any_accept = True

    def get_exception_handler(self) -> ExceptionHandler:
        return in_openai_shape(super().get_exception_handler())

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        return super().perform_content_negotiation(request, force=True)


def stream_events(events: AsyncIterator[bytes]) -> StreamingHttpResponse:
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(events, content_type=EVENT_STREAM, headers=headers)
