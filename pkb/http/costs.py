"""What a request costs, as far as its path or the tool it calls tells."""

import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any


class Cost(StrEnum):
    """Requests of one cost share places."""

    ANSWER = "answer"  # a question or a claim: models take all cores
    SEARCH = "search"  # or a file that is read, and a page of it drawn: a core, for a moment
    ENCODE = "encode"  # a text or file that is taken in, embedded or ranked; a password
    REPLAY = "replay"  # a stream that is read again: hardly anything, but for minutes
    LIGHT = "light"  # whatever else


# Asked by who looks whether the service lives: never refused for others.
EXEMPT = frozenset({"/health", "/ready"})
MCP = "/mcp"
_PATHS: Mapping[Cost, Iterable[str]] = {
    Cost.ANSWER: (
        "/answer", "/ask", "/ask-selected", "/chat", "/v1/chat/completions", "/v1/responses",
        "/claims/verify",
    ),
    Cost.SEARCH: ("/search", "/query", "/ui/search", "/rules/try"),
    Cost.ENCODE: (
        "/ingest", "/encode_doc", "/v1/embeddings", "/v1/rerank",
        "/ui/library/upload", "/ui/library/paste",
        # To try a password takes a core for .2 s, whoever sends it.
        "/ui/login", "/ui/setup", "/ui/password", "/admin/login/",
    ),
}  # fmt: skip
_COSTS = {path: cost for cost, paths in _PATHS.items() for path in paths}
_FORMS = {
    re.compile(r"/v1/vector_stores/.*/search", re.DOTALL): Cost.SEARCH,
    re.compile(r"/ui/documents/.*/reingest"): Cost.ENCODE,
    re.compile(r"/ui/rules/[^/]+"): Cost.SEARCH,
    re.compile(r"(?:/ui)?/documents/[^/]+/(?:original|pages/[^/]+)"): Cost.SEARCH,
}
_TOOLS = {"answer": Cost.ANSWER, "search": Cost.SEARCH, "ingest": Cost.ENCODE}
# Of an MCP request; only a text that is to be taken in is longer.
TOOL_CALL_BYTES = 64 * 1024


def cost_of(method: str, path: str) -> Cost:
    if method == "OPTIONS":
        return Cost.LIGHT
    if path.startswith("/chat/"):
        return Cost.REPLAY
    by_form = next((cost for form, cost in _FORMS.items() if form.fullmatch(path)), Cost.LIGHT)
    return _COSTS.get(path, by_form)


def cost_of_tool_call(content: bytes) -> Cost:
    """Return what an MCP request costs, by the tool that it calls.

    Args:
        content: Its body, of which no more than ``TOOL_CALL_BYTES`` and one are looked at.
    """
    if len(content) > TOOL_CALL_BYTES:
        return Cost.ENCODE
    try:
        return _cost_of_message(json.loads(content))
    except (ValueError, RecursionError):
        return Cost.LIGHT  # no JSON: it is told so


def _cost_of_message(message: Any) -> Cost:
    if isinstance(message, list):
        return Cost.ANSWER
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return Cost.LIGHT
    called = message.get("params")
    name = called.get("name") if isinstance(called, dict) else None
    return _TOOLS.get(name, Cost.LIGHT) if isinstance(name, str) else Cost.LIGHT
