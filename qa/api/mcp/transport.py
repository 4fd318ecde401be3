"""The MCP tools over streamable HTTP, as an ASGI application.

Every request is stateless: no session is lost in a restart, and no ASGI lifespan event is needed
(granian's ``asginl`` has none).
"""

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django.http.request import split_domain_port, validate_host

from accounts.authentication import authenticate_key, find_key
from accounts.client_ip import peer_of, read_headers, resolve_client_ip
from accounts.openid.access_tokens import authenticate_token, is_token
from accounts.openid.resource import add_metadata
from corpus.access.principal import SYSTEM, Principal, Scope, acting_as
from corpus.api.outages import translate_error
from corpus.api.requests import REFUSAL, is_cross_origin
from corpus.errors import NotAllowed, NotLoggedIn, PkbError

log = structlog.get_logger(__name__)

PROBLEM_TYPE = b"application/problem+json"


async def serve_mcp(scope: Any, receive: Any, send: Any) -> None:
    """Answer one HTTP request to /mcp, with its request id in the response and the log."""
    request_id = str(uuid4())

    async def send_named(message: Any) -> None:
        if message["type"] == "http.response.start":
            log.info("request_finished", request=f"{scope['method']} /mcp", code=message["status"])
            header = (b"x-request-id", request_id.encode())
            message = {**message, "headers": [*message.get("headers", ()), header]}
        await send(message)

    with structlog.contextvars.bound_contextvars(request_id=request_id):
        await _serve(scope, receive, send_named)


async def _serve(scope: Any, receive: Any, send: Any) -> None:
    headers = read_headers(scope["headers"])
    if refusal := _find_refusal(scope["method"], headers):
        await _send_problem(send, *refusal)
        return
    try:
        principal = await asyncio.to_thread(_admit_on_thread, headers, peer_of(scope))
    except PkbError as exc:
        challenge = add_metadata(exc.challenge) if exc.challenge else None
        await _send_problem(send, exc.status, str(exc), challenge=challenge)
        return
    # The SDK takes a second to import: not before it is needed, and not on the event loop.
    server = await asyncio.to_thread(_server, principal.scopes)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415

    manager = StreamableHTTPSessionManager(
        app=server._lowlevel_server,
        json_response=True,
        stateless=True,
        max_request_body_size=settings.PKB_MAX_BODY_BYTES,
    )
    with acting_as(principal):
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def admit_agent(headers: Mapping[str, str], *, peer: str) -> Principal:
    """Return the principal of an agent, by API key or access token, never by session.

    Args:
        headers: Names in lower case.
        peer: The IP address of the connection.

    Raises:
        NotLoggedIn: There is no valid key or token.
        NotAllowed: The key or token has no scope for any tool.
        BackendUnavailable: The database or the identity provider does not respond.
    """
    if not settings.PKB_AUTH_REQUIRED:
        return SYSTEM
    key = find_key(headers)
    if key is None:
        raise NotLoggedIn("Send an API key: Authorization: Bearer KEY.")
    address = resolve_client_ip(peer, headers.get("x-forwarded-for", ""))
    try:
        is_issued = is_token(key)
        principal = authenticate_token(key) if is_issued else authenticate_key(key, address=address)
    except (DatabaseError, InterfaceError) as exc:
        raise (translate_error(exc) or exc) from None
    if not principal.scopes & {Scope.READ, Scope.INGEST}:
        raise NotAllowed("This requires the scope read or ingest.")
    return principal


def _admit_on_thread(headers: Mapping[str, str], peer: str) -> Principal:
    try:
        return admit_agent(headers, peer=peer)
    finally:
        connections.close_all()


@cache
def _server(scopes: frozenset[Scope]) -> Any:
    from qa.api.mcp.mcp_server import build_server  # noqa: PLC0415

    return build_server(scopes=scopes)


def _find_refusal(method: str, headers: dict[str, str]) -> tuple[int, str] | None:
    """Return status and detail if a page of another site sent this, or the method is wrong."""
    domain, _ = split_domain_port(headers.get("host", ""))
    if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
        return 421, "This host is not in ALLOWED_HOSTS."
    if is_cross_origin(
        origin=headers.get("origin"),
        fetch_site=headers.get("sec-fetch-site"),
        host=headers.get("host", ""),
    ):
        return 403, REFUSAL
    if method != "POST":
        return 405, "There are no sessions and no streams of the server's own: POST."
    return None


async def _send_problem(
    send: Any, status: int, detail: str, *, challenge: str | None = None
) -> None:
    http_status = HTTPStatus(status)
    body = {
        "type": "about:blank", "title": http_status.phrase, "status": status, "detail": detail,
        "error": http_status.name.lower(), "status_code": status,
    }  # fmt: skip
    headers = [(b"content-type", PROBLEM_TYPE), (b"allow", b"POST")]
    if challenge:
        headers.append((b"www-authenticate", challenge.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
