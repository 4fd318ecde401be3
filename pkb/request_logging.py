"""One log line when a request begins and one when it ends, under an id the client gets too."""

from collections.abc import Callable

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django_structlog.middlewares import RequestMiddleware


class LogMiddleware(RequestMiddleware):
    """Logs the path alone: a query string may hold a question."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


class RequestIdMiddleware:
    """Send the id under which a request is logged back with its response."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        if request_id:
            response.headers["X-Request-ID"] = request_id
        return response
