"""What the gate lets in, has wait, and refuses; time passes when nobody has anything to do."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from pkb.http.bodies import LEAST_BYTES_PER_S, Body
from pkb.http.costs import TOOL_CALL_BYTES, Cost
from pkb.http.gate import LINGER_S, BodyBounds, Gate
from pkb.http.places import Bounds

Message = dict[str, Any]
DISCONNECT: Message = {"type": "http.disconnect"}
WAIT_S = 30.0
TIMEOUT_S = 10.0
BODIES = BodyBounds(body_bytes=1_000, file_bytes=5_000, timeout_s=TIMEOUT_S)


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


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.run(test())


@dataclass
class Client:
    """One client: what it sends, when it is told to, and what it was sent."""

    path: str = "/answer"
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


def gate(service: Any, *, running: int = 1, waiting: int = 2, bodies: BodyBounds = BODIES) -> Gate:
    bounds = Bounds(running=running, waiting=waiting, wait_s=WAIT_S)
    return Gate(service, places=dict.fromkeys(Cost, bounds), bodies=bodies)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def answer(client: Client) -> None:
    client.may_end.set()  # type: ignore[attr-defined]


@asynccontextmanager
async def full(*, running: int = 1, waiting: int = 2) -> AsyncIterator[tuple[Service, Gate]]:
    """Yield a gate whose places to run and to wait are taken by one address."""
    service = Service()
    door = gate(service, running=running, waiting=waiting)
    taken = [Client(address="10.9.9.9").say().go(door) for _ in range(running + waiting)]
    await settle()
    yield service, door
    for client in taken:
        assert client.task
        client.task.cancel()


def test_what_runs_and_waits_is_bounded() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service)
        clients = [Client().say().go(door) for _ in range(4)]
        await settle()
        assert service.running == clients[:1]
        assert [client.status for client in clients] == [None, None, None, 429]
        answer(clients[0])
        await settle()
        assert clients[0].status == 200
        assert service.running == clients[1:2]
        answer(clients[1])
        await settle()
        answer(clients[2])
        await settle()
        assert [client.status for client in clients] == [200, 200, 200, 429]

    in_loop(test)


def test_a_refusal_is_problem_details_with_the_time_to_come_again() -> None:
    async def test() -> None:
        async with full() as (_, door):
            refused = Client().say().go(door)
            more = [Client(address=f"10.0.1.{each}").say().go(door) for each in range(2)]
            await settle()
        shown = next(client for client in (refused, *more) if client.status == 503)
        assert shown.told["content-type"] == "application/problem+json"
        assert int(shown.told["retry-after"]) > 0
        body = json.loads(shown.sent[1]["body"])
        assert (body["status"], body["error"]) == (503, "service_unavailable")

    in_loop(test)


def test_openai_clients_are_refused_in_their_shape() -> None:
    async def test() -> None:
        async with full() as (_, door):
            refused = Client(path="/v1/chat/completions", address="10.9.9.9").say().go(door)
            await settle()
        assert refused.status == 429
        assert json.loads(refused.sent[1]["body"])["error"]["type"] == "rate_limit_error"

    in_loop(test)


def test_a_page_of_an_allowed_origin_may_read_the_refusal(settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example"]

    async def test() -> None:
        async with full() as (_, door):
            ours, other = (
                Client(address="10.9.9.9", headers={"origin": origin}).say().go(door)
                for origin in ("https://app.example", "https://evil.example")
            )
            await settle()
        assert ours.told["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-origin" not in other.told

    in_loop(test)


def test_who_is_refused_has_no_byte_read_before_it_is_told() -> None:
    async def test() -> None:
        async with full() as (_, door):
            refused = Client(address="10.9.9.9").go(door)
            await settle()
            assert refused.status == 429
            assert refused.read_count == 0

    in_loop(test)


def test_classes_do_not_wait_for_each_other_and_health_for_nobody() -> None:
    async def test() -> None:
        async with full() as (service, door):
            others = [
                Client(path=path, method="GET").say().go(door)
                for path in ("/search", "/ingest", "/documents", "/chat/1", "/health", "/ready")
            ]
            healths = [Client(path="/health", method="GET").say().go(door) for _ in range(9)]
            await settle()
            assert all(client in service.running for client in (*others, *healths))

    in_loop(test)


def test_addresses_take_turns() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service, waiting=4)
        many = [Client(address="10.0.0.1").say().go(door) for _ in range(4)]
        await settle()
        one = Client(address="10.0.0.2").say().go(door)
        await settle()
        served = []
        for _ in range(5):
            served.append(service.running[0])
            answer(service.running[0])
            await settle()
        assert served.index(one) == 2
        assert served[0] == many[0]

    in_loop(test)


def test_who_has_most_places_to_wait_makes_room_for_another() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service)
        many = [Client(address="10.0.0.1").say().go(door) for _ in range(3)]
        await settle()
        one = Client(address="10.0.0.2").say().go(door)
        await settle()
        assert [client.status for client in (*many, one)] == [None, None, 429, None]

    in_loop(test)


def test_a_waiter_that_leaves_makes_room_and_is_not_served() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service, waiting=1)
        running, leaver = (Client().say().go(door) for _ in range(2))
        await settle()
        leaver.leave()
        await settle()
        assert leaver.task
        assert leaver.task.done()
        following = Client().say().go(door)
        await settle()
        assert following.status is None
        answer(running)
        await settle()
        assert service.running == [following]
        assert leaver.sent == []

    in_loop(test)


def test_nobody_waits_longer_than_told() -> None:
    async def test() -> None:
        waiting = Client().say().go(gate(Service(), running=0))
        await asyncio.sleep(WAIT_S - 1)
        assert waiting.status is None
        await asyncio.sleep(2)
        assert waiting.status == 503

    in_loop(test)


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_request_that_ends_badly_gives_its_place_back(end: str) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        if scope["asked_by"].headers:
            await asyncio.Event().wait()
        raise LookupError

    async def test() -> None:
        door = gate(fail)
        for _ in range(3):
            client = Client(headers={"x": "y"} if end == "cancelled" else {}).say().go(door)
            await settle()
            assert client.task
            client.task.cancel()
            await settle()
            assert client.status is None  # it was let in
        assert door._places[Cost.ANSWER].running_count == 0

    in_loop(test)


def test_a_place_that_comes_as_its_waiter_is_cancelled_goes_on() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service)
        first, second, third = (Client().say().go(door) for _ in range(3))
        await settle()
        answer(first)
        while not first.task.done():  # type: ignore[union-attr]
            await asyncio.sleep(0)
        second.task.cancel()  # type: ignore[union-attr]
        await settle()
        assert service.running == [third]

    in_loop(test)


def test_half_sent_bodies_hold_no_place() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service)
        halves = [Client().say(b"half", more=True).go(door) for _ in range(20)]
        await settle()
        whole = Client().say(b"whole").go(door)
        await settle()
        assert service.running == [whole]
        assert [client.status for client in halves] == [None] * 20
        answer(whole)
        await asyncio.sleep(TIMEOUT_S + 1)
        assert {client.status for client in halves} == {408}
        assert {client.told["connection"] for client in halves} == {"close"}

    in_loop(test)


def test_a_large_body_has_the_longer_the_more_of_it_has_come() -> None:
    async def send_slowly(client: Client, *, bytes_per_s: int) -> None:
        for _ in range(40):
            client.say(b"x" * bytes_per_s, more=True)
            await asyncio.sleep(1)
        client.say()

    async def test() -> None:
        size = LEAST_BYTES_PER_S * 50
        bodies = BodyBounds(body_bytes=size, file_bytes=size, timeout_s=TIMEOUT_S)
        service = Service()
        door = gate(service, bodies=bodies, running=2)
        steady, slow = Client().go(door), Client().go(door)
        await asyncio.gather(
            send_slowly(steady, bytes_per_s=LEAST_BYTES_PER_S),
            send_slowly(slow, bytes_per_s=LEAST_BYTES_PER_S // 2),
        )
        await settle()
        assert service.running == [steady]
        assert slow.status == 408
        assert slow.read_count < size / 4

    in_loop(test)


def test_a_client_that_leaves_before_its_body_is_whole_is_forgotten() -> None:
    async def test() -> None:
        service = Service()
        client = Client().say(b"half", more=True).go(gate(service))
        client.leave()
        await settle()
        assert client.task
        assert client.task.done()
        assert (client.sent, service.bodies) == ([], [])

    in_loop(test)


@pytest.mark.parametrize("path", ["/health", "/answer", "/mcp", "/nowhere", "/ingest"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_body_over_the_bound_is_413_before_all_of_it_came(path: str, method: str) -> None:
    async def test() -> None:
        service = Service()
        door = gate(service)
        declared = Client(path, method=method, headers={"content-length": "1001"}).go(door)
        chunked = Client(path, method=method).go(door)
        for _ in range(4):
            chunked.say(b"x" * 300, more=True)
        await settle()
        assert (declared.status, chunked.status) == (413, 413)
        assert declared.read_count == 0
        assert declared.told["connection"] == "close"
        assert declared.told["content-type"] == "application/problem+json"
        assert service.bodies == []

    in_loop(test)


def test_files_have_a_bound_of_their_own_where_files_are_taken() -> None:
    form = {"content-type": "multipart/form-data; boundary=x", "content-length": "5000"}

    async def test() -> None:
        service = Service()
        door = gate(service, running=2)
        taken = Client("/ingest", headers=form).say(b"x" * 5_000).go(door)
        refused = Client("/answer", headers=form).say(b"x" * 5_000).go(door)
        await settle()
        assert service.running == [taken]
        assert refused.status == 413

    in_loop(test)


def test_bodies_that_are_held_are_bounded_together() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service, running=100)
        clients = [Client().say(b"x" * 900, more=True).go(door) for _ in range(112)]
        await settle()
        assert [client.status for client in clients].count(503) == 1  # 111 * 900 < 20 * 5,000
        for client in clients:
            client.leave()
        await asyncio.sleep(LINGER_S)
        await settle()
        later = Client().say(b"x" * 900).go(door)
        await settle()
        assert service.running == [later]

    in_loop(test)


def test_a_body_comes_whole_from_memory_or_disk() -> None:
    async def test() -> None:
        size = 200_000
        bodies = BodyBounds(body_bytes=size, file_bytes=size, timeout_s=TIMEOUT_S)
        service = Service()
        door = gate(service, bodies=bodies, running=2)
        content = bytes(range(250)) * (size // 250)
        Client().say(content[:70_000], more=True).say(content[70_000:]).go(door)
        Client().say(b"small").go(door)
        await settle()
        assert sorted(service.bodies, key=len) == [b"small", content]

    in_loop(test)


def test_a_refused_client_may_go_on_sending_for_a_moment() -> None:
    async def test() -> None:
        client = Client(headers={"content-length": "9999"}).go(gate(Service()))
        await settle()
        assert client.status == 413
        client.say(b"x" * 5_000, more=True)
        await settle()
        assert client.read_count == 5_000
        await asyncio.sleep(LINGER_S + 1)
        assert client.task
        assert client.task.done()

    in_loop(test)


def test_who_does_not_read_what_it_is_sent_is_given_up() -> None:
    async def test() -> None:
        service = Service()
        door = gate(service)
        stream = Client()

        async def tell(scope: Any, receive: Any, send: Any) -> None:
            await read_all(receive)
            watch = asyncio.ensure_future(receive())
            telling = asyncio.ensure_future(send({"type": "http.response.start", "status": 200}))
            await asyncio.wait({watch, telling}, return_when=asyncio.FIRST_COMPLETED)
            assert watch.result() == DISCONNECT
            telling.cancel()
            service.left.append(stream)

        door = gate(tell)
        stream.reads_on = False
        stream.say().go(door)
        await asyncio.sleep(TIMEOUT_S - 1)
        assert service.left == []
        await asyncio.sleep(2)
        assert service.left == [stream]

    in_loop(test)


def call(name: Any) -> bytes:
    return json.dumps({"method": "tools/call", "params": {"name": name}}).encode()


@pytest.mark.parametrize(
    ("content", "cost"),
    [
        (call("answer"), Cost.ANSWER),
        (call("search"), Cost.SEARCH),
        (call("ingest"), Cost.ENCODE),
        (call("fetch"), Cost.LIGHT),
        (call(["answer"]), Cost.LIGHT),
        (b'{"method": "tools/call", "params": []}', Cost.LIGHT),
        (b'{"method": "initialize"}', Cost.LIGHT),
        (b'[{"method": "tools/call"}]', Cost.ANSWER),
        (b"no json", Cost.LIGHT),
        (b"[" * 50_000, Cost.LIGHT),
        (b" " * (TOOL_CALL_BYTES + 1), Cost.ENCODE),
    ],
)
def test_a_tool_call_of_mcp_takes_a_place_of_its_cost(content: bytes, cost: Cost) -> None:
    async def test() -> None:
        bodies = BodyBounds(body_bytes=100_000, file_bytes=100_000, timeout_s=TIMEOUT_S)
        service = Service()
        door = gate(service, bodies=bodies)
        client = Client("/mcp").say(content).go(door)
        await settle()
        taken = [each for each, places in door._places.items() if places.running_count]
        assert taken == [cost]
        assert service.bodies == [content]
        client.leave()
        await settle()

    in_loop(test)


@pytest.fixture(autouse=True)
def no_file_stays_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    opened: list[Body] = []
    make = Body.__init__

    def record(self: Body, receive: Any) -> None:
        make(self, receive)
        opened.append(self)

    monkeypatch.setattr(Body, "__init__", record)
    yield
    assert all(body.file.closed for body in opened)
