"""What happens to every request: an id and its log lines, bounds of its body, the page policy."""

from collections.abc import Callable
from typing import Any

import structlog
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django_structlog.middlewares import RequestMiddleware

from pkb.http.problems import plain_problem


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


# What a multipart body adds to the file it carries: its other fields and boundaries.
MULTIPART_MARGIN_BYTES = 64 * 1024


class BodyLimitMiddleware:
    """Answer 413 to a body over its bound, before any of it is parsed."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_upload = request.content_type == "multipart/form-data"
        bound = (
            settings.PKB_MAX_FILE_BYTES + MULTIPART_MARGIN_BYTES
            if is_upload
            else settings.PKB_MAX_BODY_BYTES
        )
        if _body_bytes(request) > bound:
            return plain_problem(413, detail=f"The body may have at most {bound:,} bytes.")
        return self.get_response(request)


def _body_bytes(request: HttpRequest) -> int:
    """Return the body's size: as declared, else as received."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    if declared.isdigit():
        return int(declared)
    return len(request.body) if request.META.get("HTTP_TRANSFER_ENCODING") else 0


class PolicyMiddleware(CSPMiddleware):
    """Send the strict policy everywhere but below the paths that cannot work under it."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only=report_only)
        if request.path.startswith(settings.PKB_INLINE_SCRIPT_PATHS):
            replaced: dict[str, Any] = settings.PKB_INLINE_SCRIPT_POLICY
            parts.replace = {**(parts.replace or {}), **replaced}
        return parts
