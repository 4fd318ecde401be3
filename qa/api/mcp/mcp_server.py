"""The MCP server, whose tools run here or in a running server, which has its models loaded."""

from collections.abc import Callable
from contextlib import closing
from functools import wraps
from typing import Any

import httpx2
from django.conf import settings
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import ValidationError

from corpus.access.principal import ALL_SCOPES, Scope
from qa.api.mcp.tools import answer, count, fetch, ingest, list_collections, search

INSTRUCTIONS = (
    "A knowledge base that answers only from its own documents. `answer` gives a proved answer "
    "with verbatim quotes, or the closest passages where it is not sure, or abstains. `search` "
    "finds passages; `fetch` reads one by its id, or the whole document by its document_id. "
    "`count` counts all documents that mention a phrase, which a search cannot."
)

Connect = Callable[[], httpx2.Client | None]
"""Returns a client of the running server, or None where there is none."""

_HEADERS = {"Accept": "application/json, text/event-stream"}
_BUSY = frozenset({httpx2.codes.TOO_MANY_REQUESTS, httpx2.codes.SERVICE_UNAVAILABLE})


def build_server(
    connect: Connect = lambda: None, *, scopes: frozenset[Scope] = ALL_SCOPES
) -> MCPServer[Any]:
    """Return a server with the tools that the settings and the scopes allow.

    Args:
        connect: Returns a client of the running server to forward to, if there is one.
    """
    server: MCPServer[Any] = MCPServer("pkb", instructions=INSTRUCTIONS, version=settings.VERSION)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in (list_collections, search, count, fetch, answer) if Scope.READ in scopes else ():
        server.add_tool(forwarding(tool, connect=connect), annotations=reads)
    if Scope.INGEST in scopes and not settings.PKB_MCP_READ_ONLY:
        adds = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False)
        server.add_tool(forwarding(ingest, connect=connect), annotations=adds)
    return server


def forwarding(tool: Callable[..., Any], *, connect: Connect) -> Callable[..., Any]:
    """Return a tool that forwards its calls to the running server.

    If no server is ready, the tool runs in this process. A broken call is not repeated: it may
    have ingested a text. It raises a ToolError, as a call to a busy server does.
    """

    @wraps(tool)
    def run(**arguments: Any) -> Any:
        client = connect()
        if client is None:
            return tool(**arguments)
        params = {"name": tool.__name__, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        with closing(client):
            try:
                reply = client.post("/mcp", json=message, headers=_HEADERS)
                if reply.status_code in _BUSY:
                    after = reply.headers.get("Retry-After", "2")
                    raise ToolError(f"The server is busy. Try again in {after} s.")
                return CallToolResult.model_validate(reply.json()["result"])
            except httpx2.ConnectError:
                return tool(**arguments)
            except (httpx2.TransportError, ValidationError, ValueError, KeyError, TypeError) as exc:
                raise ToolError("The server did not answer. Its log has the reason.") from exc

    return run
