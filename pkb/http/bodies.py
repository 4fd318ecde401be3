"""Read request bodies completely, within size and time limits, before the request runs."""

import asyncio
from asyncio import Future, Task
from collections import Counter
from contextlib import ExitStack, suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from pkb.http.rejections import ClientDisconnected, RequestRejected

# Bytes kept in memory per request; larger bodies go to a temporary file. Questions are smaller.
MEMORY_BYTES = 16 * 1024
# Minimum transfer rate after the first seconds: 512 kbit/s.
MIN_BYTES_PER_S = 64 * 1024
_PIECE_BYTES = 64 * 1024
# Maximum share of the buffer for the bodies of one caller.
MAX_SHARE = 1 / 8


class Body:
    """The body of a request, as an ASGI receive callable.

    Attributes:
        file: The complete body, at position 0.
        byte_count: Size of the body.
        caller: Name of the sender.
        held_bytes: Bytes that count against the caller's share of the buffer.
    """

    def __init__(self, receive: Any, caller: str) -> None:
        self.file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115  (closed by ``close``)
        self.byte_count = 0
        self.caller = caller
        self.held_bytes = 0
        self._receive = receive
        self._is_delivered = False
        self._disconnected: Future[None] | None = None
        self._watch: Task[None] | None = None

    async def __call__(self) -> dict[str, Any]:
        """Return the next ASGI message: a piece of the body, then the disconnect."""
        if not self._is_delivered:
            piece = self.file.read(_PIECE_BYTES)
            self._is_delivered = self.file.tell() >= self.byte_count
            return {"type": "http.request", "body": piece, "more_body": not self._is_delivered}
        await asyncio.shield(self.disconnected)
        return {"type": "http.disconnect"}

    def detach_file(self) -> "SpooledTemporaryFile[bytes]":
        """Return the file itself, and mark the body as received."""
        self._is_delivered = True
        return self.file

    @property
    def disconnected(self) -> "Future[None]":
        """Future that is done when the client disconnects or is too slow."""
        if self._disconnected is None:
            self._disconnected = asyncio.get_running_loop().create_future()
            self._watch = asyncio.create_task(self._watch_client())
        return self._disconnected

    def mark_disconnected(self) -> None:
        """Report a disconnect to the application, because the client does not read the response."""
        if not self.disconnected.done():
            self.disconnected.set_result(None)

    def close(self) -> None:
        # On a full disk, closing tries to write the rest again and fails again.
        with suppress(OSError):
            self.file.close()
        if self._watch is not None:
            self._watch.cancel()

    async def _watch_client(self) -> None:
        await self._receive()
        self.mark_disconnected()


class BodyReader:
    """Reads bodies into a buffer of limited size.

    Bodies of up to ``MEMORY_BYTES`` do not count: the number of connections limits them.

    Args:
        timeout_s: For a small body; each ``MIN_BYTES_PER_S`` add a second.
        held_bytes: Maximum bytes of all bodies that are read and not closed.
    """

    def __init__(self, *, timeout_s: float, held_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._held_bytes = held_bytes
        self._held: Counter[str] = Counter()

    async def read(
        self, receive: Any, *, caller: str, max_bytes: int, excess: RequestRejected
    ) -> Body:
        """Return the complete body; ``close`` must follow.

        Args:
            receive: The ASGI receive callable.
            caller: Name of the sender, who may use ``MAX_SHARE`` of the buffer.
            excess: Raised if the body has more than ``max_bytes``.

        Raises:
            RequestRejected: The body is too large or too slow, or the buffer or disk is full.
            ClientDisconnected: The client disconnected before the end.
        """
        with ExitStack() as unread:
            body = Body(receive, caller)
            unread.callback(self.close, body)
            try:
                await self._fill(body, receive, max_bytes, excess)
                body.file.seek(0)
            except TimeoutError:
                raise RequestRejected(408, "The request body arrived too slowly.") from None
            except OSError as error:
                raise RequestRejected(
                    507, "The disk is full, so the request body cannot be stored."
                ) from error
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
                added = body.byte_count - body.held_bytes
                if body.byte_count > MEMORY_BYTES:
                    if self._held[body.caller] + added > self._held_bytes * MAX_SHARE:
                        raise RequestRejected(
                            429, "You are sending too much at once. Try again soon."
                        )
                    if self._held.total() + added > self._held_bytes:
                        raise RequestRejected(
                            503, "pkb is receiving too much at once. Try again soon."
                        )
                    self._held[body.caller] += added
                    body.held_bytes += added
                body.file.write(piece)
                if not message.get("more_body", False):
                    return
                # Available pieces arrive without a switch: let other tasks run.
                await asyncio.sleep(0)
                allowed_s = self._timeout_s + body.byte_count / MIN_BYTES_PER_S
                limit.reschedule(started + allowed_s)
