"""How many requests of one cost run and wait, and whose turn is next. One event loop's own."""

import asyncio
from asyncio import Future
from collections import deque
from dataclasses import dataclass
from typing import Any

from pkb.http.refusals import RETRY_AFTER_S, ClientLeft, busy

# Seconds without a refusal after which a burst may wait again: twice as long as who was refused
# is told to stay away.
CALM_S = 2 * RETRY_AFTER_S


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many requests run at once, how many more wait, and for how many seconds at most.

    Attributes:
        waiting: Of a burst: all of it is served, the last after all others.
        standing: Where more came than could wait, until nobody was refused for ``CALM_S``: who
            is let in then is served about as fast as ever, and the others are told at once.
    """

    running: int
    waiting: int
    standing: int
    wait_s: float


class Places:
    """The places of one class of requests.

    Addresses take turns: each of them is let in once before one is let in again. Where all places
    to wait are taken, the address with most of them makes room for one that has fewer.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._running = 0
        # More came than could wait; on the event loop's clock.
        self._crowded_until = 0.0
        # Whose turn is next is first. A turn's result: the place is given, or taken back.
        self._waiting: dict[str, deque[Future[bool]]] = {}

    @property
    def running_count(self) -> int:
        return self._running

    @property
    def waiting_count(self) -> int:
        return sum(map(len, self._waiting.values()))

    def check(self, address: str) -> None:
        """Say what ``take`` would say now.

        Raises:
            Refused: There is no place to wait in.
        """
        if self._running < self._bounds.running or self.waiting_count < self._room:
            return
        self._crowded_until = asyncio.get_running_loop().time() + CALM_S
        own_count = len(self._waiting.get(address, ()))
        if own_count + 1 >= len(self._waiting.get(self._heaviest(), ())):
            raise busy(is_clients_own=own_count * 2 > self._room)

    async def take(self, address: str, *, left: "Future[None]") -> None:
        """Take a place, or wait for one; ``give_back`` must follow.

        Args:
            left: Is done once the client has left.

        Raises:
            Refused: There is no place to wait in, or none came in time.
            ClientLeft: The client left while it waited.
        """
        self.check(address)
        if self._running < self._bounds.running:
            self._running += 1
            return
        if self.waiting_count >= self._room:
            self._waiting[self._heaviest()].pop().set_result(False)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        is_taken = False
        try:
            await self._wait(turn, left)
            is_taken = True
        finally:
            if not is_taken and turn.done() and not turn.cancelled() and turn.result():
                self.give_back()
            self._forget(address, turn)

    def give_back(self) -> None:
        """Give the place to the next that waits."""
        while self._waiting:
            address = next(iter(self._waiting))
            turns = self._waiting.pop(address)
            turn = turns.popleft()
            if turns:
                self._waiting[address] = turns
            if not turn.done():
                turn.set_result(True)
                return
        self._running -= 1

    @property
    def _room(self) -> int:
        is_crowded = asyncio.get_running_loop().time() < self._crowded_until
        return self._bounds.standing if is_crowded else self._bounds.waiting

    async def _wait(self, turn: "Future[bool]", left: "Future[None]") -> None:
        try:
            async with asyncio.timeout(self._bounds.wait_s):
                waiting: set[Future[Any]] = {turn, left}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise busy(is_clients_own=False) from None
        if left.done():
            raise ClientLeft
        if not turn.result():
            raise busy(is_clients_own=True)

    def _heaviest(self) -> str:
        return max(self._waiting, key=lambda each: len(self._waiting[each]), default="")

    def _forget(self, address: str, turn: "Future[bool]") -> None:
        turns = self._waiting.get(address)
        if turns and turn in turns:
            turns.remove(turn)
        if turns is not None and not turns:
            del self._waiting[address]
