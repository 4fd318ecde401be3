"""How many requests of one cost run and wait, and whose turn is next. One event loop's own."""

import asyncio
from asyncio import Future
from collections import deque
from dataclasses import dataclass
from typing import Any

from pkb.http.refusals import ClientLeft, busy


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many requests run at once, how many more wait, and for how many seconds at most."""

    running: int
    waiting: int
    wait_s: float


class Places:
    """The places of one class of requests.

    Addresses take turns: each of them is let in once before one is let in again. Where all places
    to wait are taken, the address with most of them makes room for one that has fewer.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._running = 0
        # Whose turn is next is first. A turn's result: the place is given, or taken back.
        self._waiting: dict[str, deque[Future[bool]]] = {}

    @property
    def running_count(self) -> int:
        return self._running

    @property
    def waiting_count(self) -> int:
        return sum(map(len, self._waiting.values()))

    def check(self, address: str) -> None:
        """Say what ``take`` would say now, and change nothing.

        Raises:
            Refused: There is no place to wait in.
        """
        has_room = self.waiting_count < self._bounds.waiting
        if self._running < self._bounds.running or has_room:
            return
        own_count = len(self._waiting.get(address, ()))
        if own_count + 1 >= len(self._waiting.get(self._heaviest(), ())):
            raise busy(is_clients_own=own_count * 2 > self._bounds.waiting)

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
        if self.waiting_count >= self._bounds.waiting:
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
