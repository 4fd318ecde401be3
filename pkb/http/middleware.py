"""Middleware for logs, request ids, cross-origin writes and the content security policy."""

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
from pkb.http.endpoint_lookup import find_endpoint
from pkb.http.problems import plain_problem


class LogMiddleware(RequestMiddleware):
    """Logs the path without the query string, which may hold a question.

    Logs the IP address that admission control uses; the base class trusts any X-Forwarded-For.
    """

    @classmethod
    def bind_ip(cls, request: HttpRequest) -> None:
        structlog.contextvars.bind_contextvars(ip=client_ip(request))

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


class RequestIdMiddleware:
    """Adds the request id of the log to each response."""

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
    """Rejects writes from pages of other origins with 403."""

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
    """Sends the strict policy, except below paths that need inline scripts."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only=report_only)
        if request.path.startswith(settings.PKB_INLINE_SCRIPT_PATHS):
            replaced: dict[str, Any] = settings.PKB_INLINE_SCRIPT_POLICY
            parts.replace = {**(parts.replace or {}), **replaced}
        return parts
