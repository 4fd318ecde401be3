"""Who runs, who waits and who is refused at the gate."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest

from corpus.access.principal import Principal
from corpus.endpoints import Cost
from pkb.http.admission import (
    CREDENTIAL_CACHE_S,
    RECOVERY_S,
    TOOL_CALL_BYTES,
    AdmissionMiddleware,
    BodyLimits,
    QueueLimits,
)
from tests.unit.admission import (
    BODIES,
    TIMEOUT_S,
    WAIT_S,
    Client,
    Service,
    answer,
    full,
    identify,
    make_admission,
    settle,
)


async def test_what_runs_and_waits_is_bounded() -> None:
    service = Service()
    admission = make_admission(service)
    clients = [Client().say().go(admission) for _ in range(4)]
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


async def test_a_refusal_is_problem_details_with_the_time_to_come_again() -> None:
    async with full() as (_, admission):
        refused = Client().say().go(admission)
        more = [Client(address=f"10.0.1.{each}").say().go(admission) for each in range(2)]
        await settle()
    shown = next(client for client in (refused, *more) if client.status == 503)
    assert shown.told["content-type"] == "application/problem+json"
    assert int(shown.told["retry-after"]) > 0
    body = json.loads(shown.sent[1]["body"])
    assert (body["status"], body["error"]) == (503, "service_unavailable")


async def test_openai_clients_are_refused_in_their_shape() -> None:
    async with full() as (_, admission):
        refused = Client(path="/v1/chat/completions", address="10.9.9.9").say().go(admission)
        await settle()
    assert refused.status == 429
    assert json.loads(refused.sent[1]["body"])["error"]["type"] == "rate_limit_error"


async def test_a_page_of_an_allowed_origin_may_read_the_refusal(settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example"]

    async with full() as (_, admission):
        ours, other = (
            Client(address="10.9.9.9", headers={"origin": origin}).say().go(admission)
            for origin in ("https://app.example", "https://evil.example")
        )
        await settle()
    assert ours.told["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in other.told


async def test_who_is_refused_has_no_byte_read_before_it_is_told() -> None:
    async with full() as (_, admission):
        refused = Client(address="10.9.9.9").go(admission)
        await settle()
        assert refused.status == 429
        assert refused.read_count == 0


async def test_costs_do_not_wait_for_each_other_and_health_for_none() -> None:
    async with full() as (service, admission):
        others = [
            Client(path=path, method=method).say().go(admission)
            for method, path in (
                ("POST", "/search"),
                ("POST", "/ingest"),
                ("GET", "/documents"),
                ("GET", f"/chat/{uuid4()}"),
                ("GET", "/health"),
            )
        ]
        await settle()
        assert all(client in service.running for client in others)


async def test_addresses_take_turns() -> None:
    service = Service()
    admission = make_admission(service, queue_size=4)
    many = [Client(address="10.0.0.1").say().go(admission) for _ in range(4)]
    await settle()
    one = Client(address="10.0.0.2").say().go(admission)
    await settle()
    served = []
    for _ in range(5):
        served.append(service.running[0])
        answer(service.running[0])
        await settle()
    assert served.index(one) == 2
    assert served[0] == many[0]


async def test_who_has_most_places_to_wait_makes_room_for_another() -> None:
    service = Service()
    admission = make_admission(service)
    many = [Client(address="10.0.0.1").say().go(admission) for _ in range(3)]
    await settle()
    one = Client(address="10.0.0.2").say().go(admission)
    await settle()
    assert [client.status for client in (*many, one)] == [None, None, 429, None]


async def test_a_trusted_proxy_tells_its_clients_apart(settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_TRUSTED_PROXIES = 1

    def behind(address: str) -> Client:
        headers = {"x-forwarded-for": f"6.6.6.6, {address}"}
        return Client("/ui/login", address="127.0.0.1", headers=headers).say()

    admission = make_admission(Service())
    many = [behind("192.0.2.1").go(admission) for _ in range(3)]
    await settle()
    one = behind("192.0.2.2").go(admission)
    await settle()
    assert [client.status for client in (*many, one)] == [None, None, 429, None]


@pytest.mark.parametrize("waiting", [2, 5])
async def test_second_client_is_let_in_beside_one_that_asks_again_at_once(
    waiting: int,
) -> None:
    service = Service()
    admission = make_admission(service, concurrent=2, queue_size=waiting, overload_queue_size=1)
    crowd = [Client(address="10.0.0.1").say().go(admission) for _ in range(9)]
    await settle()
    for _ in range(20):
        crowd += [Client(address="10.0.0.1").say().go(admission) for _ in range(3)]
        await settle()
        second = Client(address="10.0.0.2").say().go(admission)
        await settle()
        assert second.status is None
        while second not in service.running:
            answer(service.running[0])
            crowd.append(Client(address="10.0.0.1").say().go(admission))
            await settle()
        answer(second)
        await settle()
        assert second.status == 200
    assert 429 in [client.status for client in crowd]


async def test_callers_of_whom_nobody_waits_are_let_in_up_to_a_bound() -> None:
    admission = make_admission(Service(), queue_size=3, overload_queue_size=1)
    clients = [Client(address=f"10.0.0.{each}").say().go(admission) for each in range(6)]
    await settle()
    assert [client.status for client in clients] == [None] * 4 + [503] * 2


def with_key(key: str, *, address: str = "10.0.0.1", path: str = "/ask") -> Client:
    return Client(path, address=address, headers={"x-api-key": key})


async def test_users_take_turns_from_one_address_and_each_has_one_from_many(
    settings: Any,
) -> None:
    settings.PKB_AUTH_REQUIRED = True

    admission = make_admission(Service())
    eve = [with_key("1", address=f"10.0.{each}.1").say().go(admission) for each in range(6)]
    await settle()
    ida = with_key("2").say().go(admission)
    await settle()
    assert [client.status for client in eve].count(429) == 4
    assert ida.status is None


async def test_strangers_wait_among_themselves(settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = True

    service = Service()
    admission = make_admission(service)
    strangers = [
        Client("/documents", method="GET", address=f"10.1.{each}.1").say().go(admission)
        for each in range(9)
    ]
    forged = [with_key("forged", address=f"10.2.{each}.1").say().go(admission) for each in range(9)]
    await settle()
    assert 503 in [client.status for client in (*strangers, *forged)]
    known = [with_key("2", path=path).say().go(admission) for path in ("/documents", "/ask")]
    await settle()
    assert all(client in service.running for client in known)


async def test_a_login_is_tried_in_a_queue_of_its_own(settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = True

    service = Service()
    admission = make_admission(service)
    logins = [Client("/ui/login").say().go(admission) for _ in range(9)]
    await settle()
    page = Client("/ui/login", method="GET").say().go(admission)
    upload = with_key("2", path="/ingest").say().go(admission)
    await settle()
    assert service.running == [logins[0], page, upload]


async def test_addresses_of_one_ipv6_network_are_one_caller() -> None:
    admission = make_admission(Service())
    many = [Client(address=f"2001:db8:0:1::{each}").say().go(admission) for each in range(4)]
    await settle()
    other = Client(address="2001:db8:0:2::1").say().go(admission)
    await settle()
    assert [client.status for client in (*many, other)] == [None, None, 429, 429, None]


async def test_a_key_is_looked_up_once_in_ten_minutes(settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = True
    looked_up = []

    async def look(scope: Any) -> Principal:
        looked_up.append(scope["path"])
        return await identify(scope)

    limits = QueueLimits(concurrent=9, queue_size=1, overload_queue_size=1, wait_s=WAIT_S)
    queues = dict.fromkeys(Cost, limits)
    admission = AdmissionMiddleware(Service(), queues=queues, bodies=BODIES, identify=look)
    for path, pause_s in (("/ask", 0), ("/search", CREDENTIAL_CACHE_S + 1), ("/chat", 0)):
        with_key("2", path=path).say().go(admission)
        await settle()
        await asyncio.sleep(pause_s)
    with_key("2", path="/ask", address="10.0.0.2").say().go(admission)
    await settle()
    assert looked_up == ["/ask", "/chat", "/ask"]


async def test_hardly_anybody_waits_after_too_large_a_burst_until_it_is_calm() -> None:
    service = Service()
    admission = make_admission(service, queue_size=3, overload_queue_size=1)
    burst = [Client().say().go(admission) for _ in range(5)]
    await settle()
    assert [client.status for client in burst] == [None, None, None, None, 429]
    for client in burst[:4]:
        answer(client)
        await settle()
    assert [client.status for client in burst[:4]] == [200] * 4
    runs, stands, refused = (Client().say().go(admission) for _ in range(3))
    await settle()
    assert (runs.status, stands.status, refused.status) == (None, None, 429)
    for client in (runs, stands):
        answer(client)
        await settle()
    await asyncio.sleep(RECOVERY_S + 1)
    another = [Client().say().go(admission) for _ in range(4)]
    await settle()
    assert [client.status for client in another] == [None] * 4


async def test_a_waiter_that_leaves_makes_room_and_is_not_served() -> None:
    service = Service()
    admission = make_admission(service, queue_size=1)
    running, leaver = (Client().say().go(admission) for _ in range(2))
    await settle()
    leaver.leave()
    await settle()
    assert leaver.task
    assert leaver.task.done()
    following = Client().say().go(admission)
    await settle()
    assert following.status is None
    answer(running)
    await settle()
    assert service.running == [following]
    assert leaver.sent == []


async def test_nobody_waits_longer_than_told() -> None:
    waiting = Client().say().go(make_admission(Service(), concurrent=0))
    await asyncio.sleep(WAIT_S - 1)
    assert waiting.status is None
    await asyncio.sleep(2)
    assert waiting.status == 503


@pytest.mark.parametrize("end", ["failed", "cancelled"])
async def test_a_request_that_ends_badly_gives_its_place_back(end: str) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        if scope["asked_by"].headers:
            await asyncio.Event().wait()
        raise LookupError

    admission = make_admission(fail)
    for _ in range(3):
        client = Client(headers={"x": "y"} if end == "cancelled" else {}).say().go(admission)
        await settle()
        assert client.task
        client.task.cancel()
        await settle()
        assert client.status is None  # it was let in
    assert admission._limiters[Cost.ANSWER].active_count == 0


async def test_a_place_that_comes_as_its_waiter_is_cancelled_goes_on() -> None:
    service = Service()
    admission = make_admission(service)
    first, second, third = (Client().say().go(admission) for _ in range(3))
    await settle()
    answer(first)
    while not first.task.done():  # type: ignore[union-attr]
        await asyncio.sleep(0)
    second.task.cancel()  # type: ignore[union-attr]
    await settle()
    assert service.running == [third]


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
async def test_a_tool_call_of_mcp_takes_a_place_of_its_cost(content: bytes, cost: Cost) -> None:
    bodies = BodyLimits(body_bytes=100_000, file_bytes=100_000, timeout_s=TIMEOUT_S)
    service = Service()
    admission = make_admission(service, bodies=bodies)
    client = Client("/mcp").say(content).go(admission)
    await settle()
    taken = [each for each, queue in admission._limiters.items() if queue.active_count]
    assert taken == [cost]
    assert service.bodies == [content]
    client.leave()
    await settle()
