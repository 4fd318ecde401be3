"""Admission with scripted clients, a service and a clock for its tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from corpus.access.principal import Principal, Scope
from corpus.endpoints import Cost
from corpus.errors import NotLoggedIn
from pkb.http.admission import AdmissionMiddleware, BodyLimits, QueueLimits

Message = dict[str, Any]
DISCONNECT: Message = {"type": "http.disconnect"}
WAIT_S = 30.0
TIMEOUT_S = 10.0
BODIES = BodyLimits(body_bytes=1_000, file_bytes=5_000, timeout_s=TIMEOUT_S)


class LeapingLoop(asyncio.SelectorEventLoop):
    """Its clock leaps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def leap(timeout: float | None = None) -> Any:
            assert timeout is not None, "nothing will ever happen"
            self._now += timeout
            return select(0)

        selector.select = leap

    def time(self) -> float:
        return self._now


@dataclass
class Client:
    """One client: what it sends, when it is told to, and what it was sent."""

    path: str = "/ask"
    address: str = "10.0.0.1"
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    sent: list[Message] = field(default_factory=list)
    read_count: int = 0
    reads_on: bool = True

    def __post_init__(self) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None

    def say(self, content: bytes = b"", *, more: bool = False) -> "Client":
        self.messages.put_nowait({"type": "http.request", "body": content, "more_body": more})
        return self

    def leave(self) -> None:
        self.messages.put_nowait(DISCONNECT)

    async def receive(self) -> Message:
        message = await self.messages.get()
        self.read_count += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        if not self.reads_on:
            await asyncio.Event().wait()
        self.sent.append(message)

    def go(self, application: Any) -> "Client":
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        scope = {
            "type": "http", "http_version": "1.1", "method": self.method, "path": self.path,
            "headers": headers, "client": (self.address, 1234), "asked_by": self,
        }  # fmt: skip
        self.task = asyncio.create_task(application(scope, self.receive, self.send))
        return self

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def told(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}


class Service:
    """An application whose requests are answered when they are told to be."""

    def __init__(self) -> None:
        self.running: list[Client] = []
        self.bodies: list[bytes] = []
        self.left: list[Client] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        client = scope["asked_by"]
        self.bodies.append(await read_all(receive))
        self.running.append(client)
        client.may_end = asyncio.Event()
        watch = asyncio.ensure_future(receive())
        ending = asyncio.ensure_future(client.may_end.wait())
        try:
            await asyncio.wait({watch, ending}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done():
                self.left.append(client)
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
        finally:
            self.running.remove(client)
            for task in (watch, ending):
                task.cancel()


async def read_all(receive: Any) -> bytes:
    content = bytearray()
    while True:
        message = await receive()
        content += message["body"]
        if not message["more_body"]:
            return bytes(content)


def make_admission(
    service: Any,
    *,
    concurrent: int = 1,
    queue_size: int = 2,
    overload_queue_size: int | None = None,
    bodies: BodyLimits = BODIES,
) -> AdmissionMiddleware:
    limits = QueueLimits(
        concurrent=concurrent,
        queue_size=queue_size,
        overload_queue_size=queue_size if overload_queue_size is None else overload_queue_size,
        wait_s=WAIT_S,
    )
    return AdmissionMiddleware(
        service, queues=dict.fromkeys(Cost, limits), bodies=bodies, identify=identify
    )


async def identify(scope: Any) -> Principal:
    """Know the users by their keys: ``user 7`` has the key ``7``; another key opens nothing."""
    key = dict(scope["headers"]).get(b"x-api-key", b"").decode()
    if not key.isdigit():
        raise NotLoggedIn("The key is unknown.")
    return Principal(user_id=int(key), scopes=frozenset(Scope))


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def answer(client: Client) -> None:
    client.may_end.set()  # type: ignore[attr-defined]


@asynccontextmanager
async def full() -> AsyncIterator[tuple[Service, AdmissionMiddleware]]:
    """Yield middleware whose queue is full of requests from one IP address."""
    service = Service()
    admission = make_admission(service)
    taken = [Client(address="10.9.9.9").say().go(admission) for _ in range(3)]
    await settle()
    yield service, admission
    for client in taken:
        assert client.task
        client.task.cancel()
