"""Let questions open one after the other: what is open costs nothing, a hundred openings do.

Each request begins in a thread of its own, and a hundred that start together would hold up
whatever else is asked: /health beside 100 new chats took 660 to 1,020 ms at worst in three runs,
one after the other 73 to 82 (benchmarks/streaming.py, two cores).
"""

import asyncio
from asyncio import Semaphore
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""Of ASGI: its scope, receive and send."""

OPENINGS = 1
# Seconds. What has not begun to answer by then is no stream, and waits for its whole answer.
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
