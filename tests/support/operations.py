"""The operations of the API, as the views in the URLconf declare them."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, get_resolver

from corpus.endpoints import Endpoint

_PARAMETER = re.compile(r"<[^<>]*>|\(\?P<[^<>]*>[^()]*\)")


def list_operations() -> dict[str, Endpoint]:
    """Return the operations of the API by method and path, such as ``GET /tags/{}``."""
    return {
        f"{method} {path}": endpoint
        for path, view in _walk(get_resolver().url_patterns, "/")
        for method, endpoint in getattr(getattr(view, "view_class", view), "endpoints", {}).items()
        if endpoint.id
    }


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for each in patterns:
        route = prefix + _PARAMETER.sub("{}", str(each.pattern).strip("^$"))
        if isinstance(each, URLPattern):
            yield route, each.callback
        else:
            yield from _walk(each.url_patterns, route)
