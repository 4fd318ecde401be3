"""How bodies come through the gate: counted and timed as they arrive."""

import asyncio
import json
from typing import Any

import pytest

from pkb.http.admission import LINGER_S, BodyLimits
from pkb.http.bodies import MIN_BYTES_PER_S
from tests.unit.admission import (
    DISCONNECT,
    TIMEOUT_S,
    Client,
    Service,
    answer,
    make_admission,
    read_all,
    settle,
)


async def test_half_sent_bodies_hold_no_place() -> None:
    service = Service()
    admission = make_admission(service)
    halves = [Client().say(b"half", more=True).go(admission) for _ in range(20)]
    await settle()
    whole = Client().say(b"whole").go(admission)
    await settle()
    assert service.running == [whole]
    assert [client.status for client in halves] == [None] * 20
    answer(whole)
    await asyncio.sleep(TIMEOUT_S + 1)
    assert {client.status for client in halves} == {408}
    assert {client.told["connection"] for client in halves} == {"close"}


async def test_a_large_body_has_the_longer_the_more_of_it_has_come() -> None:
    async def send_slowly(client: Client, *, bytes_per_s: int) -> None:
        for _ in range(40):
            client.say(b"x" * bytes_per_s, more=True)
            await asyncio.sleep(1)
        client.say()

    size = MIN_BYTES_PER_S * 50
    bodies = BodyLimits(body_bytes=size, file_bytes=size, timeout_s=TIMEOUT_S)
    service = Service()
    admission = make_admission(service, bodies=bodies, concurrent=2)
    steady, slow = Client().go(admission), Client().go(admission)
    await asyncio.gather(
        send_slowly(steady, bytes_per_s=MIN_BYTES_PER_S),
        send_slowly(slow, bytes_per_s=MIN_BYTES_PER_S // 2),
    )
    await settle()
    assert service.running == [steady]
    assert slow.status == 408
    assert slow.read_count < size / 4


async def test_a_client_that_leaves_before_its_body_is_whole_is_forgotten() -> None:
    service = Service()
    client = Client().say(b"half", more=True).go(make_admission(service))
    client.leave()
    await settle()
    assert client.task
    assert client.task.done()
    assert (client.sent, service.bodies) == ([], [])


@pytest.mark.parametrize("path", ["/health", "/ask", "/mcp", "/nowhere", "/ingest"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_body_over_the_bound_is_413_before_all_of_it_came(path: str, method: str) -> None:
    service = Service()
    admission = make_admission(service)
    declared = Client(path, method=method, headers={"content-length": "1001"}).go(admission)
    chunked = Client(path, method=method).go(admission)
    for _ in range(4):
        chunked.say(b"x" * 300, more=True)
    await settle()
    assert (declared.status, chunked.status) == (413, 413)
    assert declared.read_count == 0
    assert declared.told["connection"] == "close"
    assert declared.told["content-type"] == "application/problem+json"
    assert service.bodies == []


@pytest.mark.parametrize("path", ["/ui/login", "/ui/setup", "/ui/password"])
async def test_a_password_has_no_large_body(path: str) -> None:
    form = {"content-type": "multipart/form-data; boundary=x", "content-length": "70000"}

    bodies = BodyLimits(body_bytes=10**6, file_bytes=10**7, timeout_s=TIMEOUT_S)
    client = Client(path, headers=form).go(make_admission(Service(), bodies=bodies))
    await settle()
    assert client.status == 413


@pytest.mark.parametrize("declared", [{"content-length": "70000"}, {}])
async def test_more_than_a_little_is_read_of_known_callers_only(
    settings: Any, declared: dict[str, str]
) -> None:
    settings.PKB_AUTH_REQUIRED = True

    bodies = BodyLimits(body_bytes=10**6, file_bytes=10**7, timeout_s=TIMEOUT_S)
    service = Service()
    admission = make_admission(service, bodies=bodies)
    known, forged = (
        Client("/ingest", headers={"x-api-key": key, **declared}).go(admission)
        for key in ("7", "forged")
    )
    for client in (known, forged):
        client.say(b"x" * 35_000, more=True).say(b"x" * 35_000)
    await settle()
    assert service.running == [known]
    assert forged.status == 401
    assert json.loads(forged.sent[1]["body"])["detail"] == "The key is unknown."


async def test_files_have_a_bound_of_their_own_where_files_are_taken() -> None:
    form = {"content-type": "multipart/form-data; boundary=x", "content-length": "5000"}

    service = Service()
    admission = make_admission(service, concurrent=2)
    taken = Client("/ingest", headers=form).say(b"x" * 5_000).go(admission)
    refused = Client("/ask", headers=form).say(b"x" * 5_000).go(admission)
    await settle()
    assert service.running == [taken]
    assert refused.status == 413


async def test_one_caller_holds_at_most_an_eighth_of_what_all_may() -> None:
    size = 20_000
    bodies = BodyLimits(body_bytes=size, file_bytes=size, timeout_s=TIMEOUT_S)

    service = Service()
    admission = make_admission(service, concurrent=100, bodies=bodies)

    def begin(address: str) -> Client:
        return Client(address=address).say(b"x" * size, more=True).go(admission)

    # 20 of the largest in all: two and a half of one caller.
    first = [begin("10.0.0.1") for _ in range(25)]
    small = [Client().say(b"x" * 10_000, more=True).go(admission) for _ in range(100)]
    others = [begin(f"10.0.1.{each // 2}") for each in range(19)]
    await settle()
    assert [client.status for client in first].count(429) == 23
    assert {client.status for client in small} == {None}
    assert [client.status for client in others].count(503) == 1
    for client in (*first, *small, *others):
        client.leave()
    await asyncio.sleep(LINGER_S)
    await settle()
    later = Client().say(b"x" * size).go(admission)
    await settle()
    assert service.running == [later]


async def test_a_body_comes_whole_from_memory_or_disk() -> None:
    size = 200_000
    bodies = BodyLimits(body_bytes=size, file_bytes=size, timeout_s=TIMEOUT_S)
    service = Service()
    admission = make_admission(service, bodies=bodies, concurrent=2)
    content = bytes(range(250)) * (size // 250)
    Client().say(content[:70_000], more=True).say(content[70_000:]).go(admission)
    Client().say(b"small").go(admission)
    await settle()
    assert sorted(service.bodies, key=len) == [b"small", content]


async def test_a_refused_client_may_go_on_sending_for_a_moment() -> None:
    client = Client(headers={"content-length": "9999"}).go(make_admission(Service()))
    await settle()
    assert client.status == 413
    client.say(b"x" * 5_000, more=True)
    await settle()
    assert client.read_count == 5_000
    await asyncio.sleep(LINGER_S + 1)
    assert client.task
    assert client.task.done()


async def test_who_does_not_read_what_it_is_sent_is_given_up() -> None:
    service = Service()
    admission = make_admission(service)
    stream = Client()

    async def tell(scope: Any, receive: Any, send: Any) -> None:
        await read_all(receive)
        watch = asyncio.ensure_future(receive())
        telling = asyncio.ensure_future(send({"type": "http.response.start", "status": 200}))
        await asyncio.wait({watch, telling}, return_when=asyncio.FIRST_COMPLETED)
        assert watch.result() == DISCONNECT
        telling.cancel()
        service.left.append(stream)

    admission = make_admission(tell)
    stream.reads_on = False
    stream.say().go(admission)
    await asyncio.sleep(TIMEOUT_S - 1)
    assert service.left == []
    await asyncio.sleep(2)
    assert service.left == [stream]
