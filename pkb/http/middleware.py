"""Middleware for logs, request ids, cross-origin writes and the content security policy."""

from collections.abc import Callable

import structlog
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django_structlog.middlewares import RequestMiddleware

from accounts.client_ip import client_ip
from corpus.api.requests import REFUSAL, is_cross_origin
from pkb.http.endpoint_lookup import SAFE_METHODS, find_endpoint
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

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Add the request id of the log to the response."""
        response.headers["X-Request-ID"] = structlog.contextvars.get_contextvars()["request_id"]
        super().handle_response(request, response)


class OriginMiddleware:
    """Rejects writes from pages of other origins with 403."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        method, headers = str(request.method), request.headers
        is_safe = method in SAFE_METHODS | {"TRACE"}
        if (not is_safe or find_endpoint(method, request.path).writes) and is_cross_origin(
            origin=headers.get("Origin"),
            fetch_site=headers.get("Sec-Fetch-Site"),
            host=headers.get("Host", ""),
        ):
            return plain_problem(403, detail=REFUSAL)
        return self.get_response(request)


class PolicyMiddleware(CSPMiddleware):
    """Sends the strict policy, except in the admin and Swagger UI, which need inline scripts."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only=report_only)
        match = request.resolver_match
        if match and (match.app_name == "admin" or match.view_name == "docs"):
            parts.replace = {**(parts.replace or {}), **settings.PKB_INLINE_SCRIPT_POLICY}
        return parts
