"""What happens to every request: an id and its log lines, the page policy."""

from collections.abc import Callable
from typing import Any

import structlog
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django_structlog.middlewares import RequestMiddleware

from accounts.client_ip import client_ip
from corpus.api.origins import REFUSAL, is_cross_origin
from pkb.http.endpoints import find_endpoint
from pkb.http.problems import plain_problem


class LogMiddleware(RequestMiddleware):
    """Logs the path alone: a query string may hold a question.

    And the address that admission and keys go by; the base class believes any client's word.
    """

    @classmethod
    def bind_ip(cls, request: HttpRequest) -> None:
        structlog.contextvars.bind_contextvars(ip=client_ip(request))

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


_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class OriginMiddleware:
    """Answer 403 to pages of other sites that would write."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        sent = request.headers
        if _writes(request) and is_cross_origin(
            origin=sent.get("Origin"),
            fetch_site=sent.get("Sec-Fetch-Site"),
            host=sent.get("Host", ""),
        ):
            return plain_problem(403, detail=REFUSAL)
        return self.get_response(request)


def _writes(request: HttpRequest) -> bool:
    if request.method in _SAFE_METHODS:
        return find_endpoint(str(request.method), request.path).writes
    return True


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
