"""Read a request's whole body before anything is done for it: counted, and within its time."""

import asyncio
from asyncio import Future, Task
from collections import Counter
from contextlib import ExitStack, suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from pkb.http.rejections import ClientDisconnected, RequestRejected

# Kept in memory for each request; more goes to a file on disk. A question is far under it.
MEMORY_BYTES = 16 * 1024
# What a body must bring beside its first seconds: 512 kbit/s, less than any line of today.
MIN_BYTES_PER_S = 64 * 1024
_PIECE_BYTES = 64 * 1024
# Of what all bodies may have together, the most that those of one caller have.
MAX_SHARE = 1 / 8


class Body:
    """The body of one request as an application receives it, and whether its client has left.

    Attributes:
        file: The whole of it, at its start.
        byte_count: Its size.
        caller: Whose it is.
        held_bytes: What of it counts against the caller's share.
    """

    def __init__(self, receive: Any, caller: str) -> None:
        self.file = _new_file()
        self.byte_count = 0
        self.caller = caller
        self.held_bytes = 0
        self._receive = receive
        self._is_delivered = False
        self._disconnected: Future[None] | None = None
        self._watch: Task[None] | None = None

    async def __call__(self) -> dict[str, Any]:
        """Receive as ASGI says: the pieces of the body, and after them that the client left."""
        if not self._is_delivered:
            piece = self.file.read(_PIECE_BYTES)
            self._is_delivered = self.file.tell() >= self.byte_count
            return {"type": "http.request", "body": piece, "more_body": not self._is_delivered}
        await asyncio.shield(self.disconnected)
        return {"type": "http.disconnect"}

    def detach_file(self) -> "SpooledTemporaryFile[bytes]":
        """Return the file itself, for who would read it piece by piece into another."""
        self._is_delivered = True
        return self.file

    @property
    def disconnected(self) -> "Future[None]":
        """Done once the client has left, or was given up."""
        if self._disconnected is None:
            self._disconnected = asyncio.get_running_loop().create_future()
            self._watch = asyncio.create_task(self._watch_client())
        return self._disconnected

    def mark_disconnected(self) -> None:
        """Have the application hear that its client has left: it does not read what it is sent."""
        if not self.disconnected.done():
            self.disconnected.set_result(None)

    def close(self) -> None:
        # What was not written yet of one without room is written now, again in vain.
        with suppress(OSError):
            self.file.close()
        if self._watch is not None:
            self._watch.cancel()

    async def _watch_client(self) -> None:
        await self._receive()
        self.mark_disconnected()


class BodyReader:
    """Reads bodies; holds no more of them at once than its bound.

    Bodies of up to ``MEMORY_BYTES`` do not count: the number of connections bounds them.

    Args:
        timeout_s: For the whole of a small body; each ``MIN_BYTES_PER_S`` give a second more.
        held_bytes: All bodies that were read and are not closed may have so many together.
    """

    def __init__(self, *, timeout_s: float, held_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._held_bytes = held_bytes
        self._held: Counter[str] = Counter()

    async def read(
        self, receive: Any, *, caller: str, max_bytes: int, excess: RequestRejected
    ) -> Body:
        """Return the whole body; ``close`` must follow.

        Args:
            receive: ASGI's.
            caller: Whose body it is; one caller holds at most ``MAX_SHARE`` of all bytes.
            excess: Raised where the body has more than ``max_bytes``.

        Raises:
            RequestRejected: It is too large, did not come in its time, or there is no room for it.
            ClientDisconnected: Its client left before its end.
        """
        with ExitStack() as unread:
            body = Body(receive, caller)
            unread.callback(self.close, body)
            try:
                await self._fill(body, receive, max_bytes, excess)
                body.file.seek(0)
            except TimeoutError:
                raise RequestRejected(408, "The body did not come within its time.") from None
            except OSError as error:
                raise RequestRejected(507, "There is no room on the disk for the body.") from error
            unread.pop_all()
        return body

    def close(self, body: Body) -> None:
        self._held[body.caller] -= body.held_bytes
        if not self._held[body.caller]:
            del self._held[body.caller]
        body.close()

    async def _fill(
        self, body: Body, receive: Any, max_bytes: int, excess: RequestRejected
    ) -> None:
        started = asyncio.get_running_loop().time()
        async with asyncio.timeout(self._timeout_s) as limit:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnected
                piece = message.get("body", b"")
                if body.byte_count + len(piece) > max_bytes:
                    raise excess
                body.byte_count += len(piece)
                self._hold(body)
                body.file.write(piece)
                if not message.get("more_body", False):
                    return
                # Pieces that are there already are had without a turn of the loop: others need one.
                await asyncio.sleep(0)
                allowed_s = self._timeout_s + body.byte_count / MIN_BYTES_PER_S
                limit.reschedule(started + allowed_s)

    def _hold(self, body: Body) -> None:
        if body.byte_count <= MEMORY_BYTES:
            return
        added = body.byte_count - body.held_bytes
        if self._held[body.caller] + added > self._held_bytes * MAX_SHARE:
            raise RequestRejected(429, "You are sending too much at once; send it again soon.")
        if self._held.total() + added > self._held_bytes:
            raise RequestRejected(503, "Too much is being sent at once; send it again soon.")
        self._held[body.caller] += added
        body.held_bytes += added


def _new_file() -> "SpooledTemporaryFile[bytes]":
    return SpooledTemporaryFile(max_size=MEMORY_BYTES)
