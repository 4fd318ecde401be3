"""The one gate before everything: what is too large, too slow or too much is told so at once.

It is the outermost ASGI application and lives on the event loop. Who is refused costs no thread,
no database connection, and no byte of the body that was not there already. A request takes a
place only once its whole body is there, so that half-sent ones hold none (docs/decisions/0027).
"""

import asyncio
from asyncio import TimerHandle
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from accounts.addresses import find_client, read_headers
from pkb.http.bodies import Body, BodyReader, too_large
from pkb.http.costs import EXEMPT, MCP, TOOL_CALL_BYTES, Cost, cost_of, cost_of_tool_call
from pkb.http.entrance import check_entrance
from pkb.http.places import Bounds, Places
from pkb.http.refusals import ClientLeft, Refused, tell

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""Of ASGI: its scope, receive and send."""

# A client that is still sending must have the time to read why it was refused: a connection that
# is closed before loses what was told.
LINGER_S = 2.0
# What a multipart body adds to the file it carries: its other fields and boundaries.
MULTIPART_MARGIN_BYTES = 64 * 1024
# Largest files whose bodies are held at once.
HELD_FILES = 20


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """Bytes of a body without a file, and of a file; seconds in which a small one must be there.

    The same time is given to a client to read a piece of what it is sent.
    """

    body_bytes: int
    file_bytes: int
    timeout_s: float


class Gate:
    """Lets requests through to an application, by what they cost."""

    def __init__(
        self, application: Application, *, places: Mapping[Cost, Bounds], bodies: BodyBounds
    ) -> None:
        self._application = application
        self._places = {cost: Places(bounds) for cost, bounds in places.items()}
        self._bodies = bodies
        held_bytes = HELD_FILES * max(bodies.body_bytes, bodies.file_bytes)
        self._reader = BodyReader(timeout_s=bodies.timeout_s, held_bytes=held_bytes)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            body = await self._admit(scope, receive)
        except Refused as refused:
            await tell(refused, scope=scope, send=send)
            await _linger(receive, refused)
            return
        except ClientLeft:
            return
        try:
            await self._run(scope, body, send)
        finally:
            self._reader.close(body)

    async def _admit(self, scope: Any, receive: Any) -> Body:
        """Read the body, unless it can be told before that the request is refused."""
        check_entrance(scope)
        max_bytes = self._max_bytes(scope)
        if _declared_bytes(scope) > max_bytes:
            raise too_large(max_bytes)
        path = scope["path"]
        if path not in EXEMPT and path != MCP:
            self._places[cost_of(scope["method"], path)].check(_address(scope))
        return await self._reader.read(receive, max_bytes=max_bytes)

    async def _run(self, scope: Any, body: Body, send: Any) -> None:
        sender = _Sender(body, send, timeout_s=self._bodies.timeout_s)
        if scope["path"] in EXEMPT:
            await self._application(scope, body, sender)
            return
        places = self._places[_cost_of(scope, body)]
        try:
            await places.take(_address(scope), left=body.left)
        except Refused as refused:
            await tell(refused, scope=scope, send=send)
            return
        except ClientLeft:
            return
        try:
            await self._application(scope, body, sender)
        finally:
            places.give_back()

    def _max_bytes(self, scope: Any) -> int:
        is_upload = _header(scope, b"content-type").startswith(b"multipart/form-data")
        if is_upload and cost_of(scope["method"], scope["path"]) == Cost.ENCODE:
            return self._bodies.file_bytes + MULTIPART_MARGIN_BYTES
        return self._bodies.body_bytes


class _Sender:
    """Sends on; a client that does not read what it is sent in its time is given up."""

    def __init__(self, body: Body, send: Any, *, timeout_s: float) -> None:
        self._body = body
        self._send = send
        self._timeout_s = timeout_s

    async def __call__(self, message: Any) -> None:
        loop = asyncio.get_running_loop()
        timer: TimerHandle = loop.call_later(self._timeout_s, self._body.give_up_client)
        try:
            await self._send(message)
        finally:
            timer.cancel()


def _cost_of(scope: Any, body: Body) -> Cost:
    if scope["path"] != MCP:
        return cost_of(scope["method"], scope["path"])
    content = body.file.read(TOOL_CALL_BYTES + 1)
    body.file.seek(0)
    return cost_of_tool_call(content)


def _address(scope: Any) -> str:
    client = scope.get("client")
    peer = str(client[0]) if client else ""
    return find_client(peer, read_headers(scope["headers"]).get("x-forwarded-for", ""))


def _header(scope: Any, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


def _declared_bytes(scope: Any) -> int:
    declared = _header(scope, b"content-length")
    return int(declared) if declared.isdigit() else 0


async def _linger(receive: Any, refused: Refused) -> None:
    """Take in for a moment what a refused client is still sending, and keep nothing of it."""
    if refused.status == 408:  # noqa: PLR2004  (it sends nothing)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while (await receive()).get("more_body", False):
                await asyncio.sleep(0)
