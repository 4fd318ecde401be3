"""Django's ASGI handler, a thread a request; streaming doors open one after the other."""

import asyncio
from asyncio import Semaphore
from collections.abc import Awaitable, Callable
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneThreadHandler(ASGIHandler):
    """Go to a thread once a request; Django's own goes there twice for each middleware.

    Everything here is synchronous but for what streams, which the event loop still sends. Each
    change over waits for the interpreter's lock (docs/decisions/0014).
    """

    def __init__(self) -> None:
        django.setup(set_prefix=False)
        super().__init__()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


Application = Callable[[Any, Any, Any], Awaitable[None]]
"""Of ASGI: its scope, receive and send."""

OPENINGS = 1
# Seconds. What has not begun to answer by then is no stream, and waits for its whole answer
# (docs/decisions/0014).
OPENING_S = 0.05


def open_in_turn(application: Application, *, paths: frozenset[str]) -> Application:
    """Return the application; requests for these paths wait until the one before has begun.

    It has when its answer begins, or after ``OPENING_S``.
    """
    turns = Semaphore(OPENINGS)

    async def wait_for_turn(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in paths:
            await application(scope, receive, send)
            return
        turn = _Turn(turns)
        await turn.take()
        asyncio.get_running_loop().call_later(OPENING_S, turn.give_back)

        async def pass_on(message: Any) -> None:
            turn.give_back()
            await send(message)

        try:
            await application(scope, receive, pass_on)
        finally:
            turn.give_back()

    return wait_for_turn


class _Turn:
    def __init__(self, turns: Semaphore) -> None:
        self._turns = turns
        self._is_held = False

    async def take(self) -> None:
        await self._turns.acquire()
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._turns.release()
