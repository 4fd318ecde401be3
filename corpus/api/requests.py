"""Check the origin of a request, parse its body, and negotiate the content type."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

PROBLEM_TYPE = "application/problem+json"

REFUSAL = "A page of another site may not do this; PKB_CORS_ORIGINS names those that may."
_ELSEWHERE = frozenset({"cross-site", "same-site"})


def is_cross_origin(*, origin: str | None, fetch_site: str | None, host: str) -> bool:
    """Return whether a page of another origin sent a request, except those in PKB_CORS_ORIGINS.

    A browser sends requests for any page, with the network access of its machine. Two headers name
    the page's origin; scripts and command-line clients send neither.

    Args:
        origin: Its ``Origin``; ``null``, as from a sandboxed page, is always foreign.
        fetch_site: Its ``Sec-Fetch-Site``.
        host: Its ``Host``.
    """
    is_allowed = settings.CORS_ALLOW_ALL_ORIGINS or origin in settings.CORS_ALLOWED_ORIGINS
    if origin is not None and is_allowed:
        return False
    if origin is None or fetch_site in _ELSEWHERE:
        return fetch_site in _ELSEWHERE
    scheme = "https" if settings.SECURE_PROXY_SSL_HEADER else "http"
    ours = {f"{scheme}://{host}".lower(), _without_path(settings.PKB_PUBLIC_URL)}
    if fetch_site == "same-origin":
        # Browsers include the scheme, but a proxy may have ended TLS.
        ours |= {f"https://{host}".lower(), f"http://{host}".lower()}
    return _without_path(origin) not in ours


def _without_path(address: str) -> str | None:
    try:
        parts = urlsplit(address.lower())
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None


class ObjectParser(JSONParser):
    """Accepts only JSON objects."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            parsed = super().parse(stream, media_type, parser_context)
        except RecursionError as exc:
            raise ParseError("The JSON is nested too deeply.") from exc
        if not isinstance(parsed, dict):
            raise ParseError("The body must be a JSON object.")
        return parsed


class ProblemNegotiation(DefaultContentNegotiation):
    """Treats a client that accepts problem details as one that accepts JSON."""

    def get_accept_list(self, request: Request) -> list[str]:
        accepted: list[str] = super().get_accept_list(request)
        extra = ["application/json"] if PROBLEM_TYPE in accepted else []
        return [*accepted, *extra]
