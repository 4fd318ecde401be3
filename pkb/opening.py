"""Let chats open one after the other: what is open costs nothing, a hundred openings do.

Each request begins in a thread of its own, and a hundred that start together would hold up
whatever else is asked for half a second: /health beside 100 new chats took 733 ms at worst, and 326
with two openings at a time and nothing else changed (benchmarks/streaming.py, two cores).
"""

from asyncio import Semaphore
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""Of ASGI: its scope, receive and send."""

OPENINGS = 1


def open_in_turn(application: Application, *, paths: frozenset[str]) -> Application:
    """Return the application; requests for these paths wait until the one before has begun."""
    turns = Semaphore(OPENINGS)

    async def wait_for_turn(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in paths:
            await application(scope, receive, send)
            return
        turn = _Turn(turns)
        await turn.take()

        async def pass_on(message: Any) -> None:
            turn.give_back()  # at the latest when the answer begins
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
