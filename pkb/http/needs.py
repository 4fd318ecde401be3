"""What a request needs, by method and path: the one place where that is decided. Pure.

What is not named here reads if it is a GET, and ingests if it is anything else.
"""

import re
from dataclasses import dataclass

from corpus.access.principal import Scope

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Need:
    """What lets a request in.

    Attributes:
        scope: None where anybody is let in.
        is_page: People open it: a session is needed, and no key will do.
    """

    scope: Scope | None
    is_page: bool = False


METRICS = "/metrics"
MCP = "/mcp"
LOGIN = "/ui/login"
_OPENID = "/ui/login/openid"
# Which says where strangers log in.
_RESOURCE = "/.well-known/oauth-protected-resource"
_OPEN = frozenset({
    "/health", "/ready", LOGIN, _OPENID, f"{_OPENID}/callback", "/ui/setup",
    _RESOURCE, f"{_RESOURCE}/mcp",
})  # fmt: skip
_STATIC = "/static/"
# Rules are about everybody's documents.
_ADMINS = re.compile(r"/(?:metrics|audit|status|rules(?:/.*)?)", re.DOTALL)
_PAGES = re.compile(r"/|/(?:ui|admin)(?:/.*)?", re.DOTALL)
_ADMIN_PAGES = re.compile(r"/(?:admin|ui/rules)(?:/.*)?", re.DOTALL)
# Written is what was asked, one's own conversations, and what is one's own of the account.
_READING_WRITES = re.compile(
    r"""
      /ask | /ask-selected | /chat | /search | /query | /claims/verify
    | /answers/[^/]+/feedback | /sessions/[^/]+
    | /v1/(?: chat/completions | responses | embeddings | rerank )
    | /v1/vector_stores/.+/search
    | /ui/chats/[^/]+/(?: name | delete )
    | /ui/(?: logout | password ) | /ui/keys (?: /.* )?
    """,
    re.VERBOSE | re.DOTALL,
)


def find_need(method: str, path: str) -> Need:
    """Return what lets a request of this method in at this path."""
    if path in _OPEN or path.startswith(_STATIC):
        return Need(None)
    is_page = _PAGES.fullmatch(path) is not None
    return Need(_find_scope(method, path), is_page=is_page)


def _find_scope(method: str, path: str) -> Scope:
    if _ADMINS.fullmatch(path) or _ADMIN_PAGES.fullmatch(path):
        return Scope.ADMIN
    reads = method in SAFE_METHODS or _READING_WRITES.fullmatch(path)
    return Scope.READ if reads else Scope.INGEST
