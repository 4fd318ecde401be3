"""Look up the endpoint declarations of the views in the URLconf."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.urls import Resolver404, URLPattern, get_resolver, resolve

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOGIN = "/ui/login"
MCP = "/mcp"  # an application of its own beside Django's
METRICS = "/metrics"

_PAGES = re.compile(r"/|/(?:ui|admin)(?:/.*)?", re.DOTALL)
_ADMIN = re.compile(r"/admin(?:/.*)?", re.DOTALL)
_PARAMETER = re.compile(r"<[^<>]*>|\(\?P<[^<>]*>[^()]*\)")


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


def list_operations() -> dict[str, Endpoint]:
    """Return the operations of the API by method and path, such as ``GET /tags/{}``."""
    return {
        f"{method} {path}": declared
        for path, view in _walk(get_resolver().url_patterns, "/")
        for method, declared in _declared_by(view).items()
        if declared.id
    }


@lru_cache(maxsize=1024)  # a request is looked up by admission, access and the audit log
def _find_declared(path: str) -> Mapping[str, Endpoint]:
    if path.startswith(settings.STATIC_URL):
        return {"GET": Endpoint(is_open=True)}
    try:
        return _declared_by(resolve(path).func)
    except Resolver404:
        return {}


def _declared_by(view: Any) -> Mapping[str, Endpoint]:
    declared: Mapping[str, Endpoint] = getattr(getattr(view, "view_class", view), "endpoints", {})
    return declared


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for each in patterns:
        route = prefix + _PARAMETER.sub("{}", str(each.pattern).strip("^$"))
        if isinstance(each, URLPattern):
            yield route, each.callback
        else:
            yield from _walk(each.url_patterns, route)
