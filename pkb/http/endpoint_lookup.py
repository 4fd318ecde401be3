"""Look up the endpoint declarations of the views in the URLconf."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from django.conf import settings
from django.urls import Resolver404, resolve

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MCP = "/mcp"  # an application of its own beside Django's

_PAGES = re.compile(r"/|/(?:ui|admin)(?:/.*)?", re.DOTALL)
_ADMIN = re.compile(r"/admin(?:/.*)?", re.DOTALL)


def find_endpoint(method: str, path: str) -> Endpoint:
    """Return the declaration of a request's method on its view.

    An undeclared method has the scope of the first declared one, and light cost.
    """
    by_method = _find_declared(path)
    endpoint = by_method.get("GET" if method == "HEAD" else method)
    if endpoint is None:
        first = next(iter(by_method.values()), Endpoint())
        endpoint = Endpoint(scope=first.scope, is_open=first.is_open)
    if endpoint.scope is not None or endpoint.is_open:
        return endpoint
    if _ADMIN.fullmatch(path):
        return replace(endpoint, scope=Scope.ADMIN)
    return replace(endpoint, scope=Scope.READ if method in SAFE_METHODS else Scope.INGEST)


def is_page(path: str) -> bool:
    """Return whether a path is a page of the web app or admin, which API keys cannot open."""
    return _PAGES.fullmatch(path) is not None


@lru_cache(maxsize=1024)  # a request is looked up by admission, access and the audit log
def _find_declared(path: str) -> Mapping[str, Endpoint]:
    if path.startswith(settings.STATIC_URL):
        return {"GET": Endpoint(is_open=True)}
    try:
        view = resolve(path).func
    except Resolver404:
        return {}
    endpoints: Mapping[str, Endpoint] = getattr(getattr(view, "view_class", view), "endpoints", {})
    return endpoints
