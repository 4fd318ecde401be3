"""One client that harms others, if it can: they are served, and it is told.

``scripts/attack`` attacks in more ways, and longer.
"""

import asyncio
import json
import os
import resource
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from select import select
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.attacks.content import damage_requests, poison
from tests.attacks.deletion import read_deleted
from tests.attacks.reach import write_from_elsewhere
from tests.attacks.target import Target
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.processes import SMALL_MODELS, own_database, served

pytestmark = pytest.mark.slow

# More than the server's own queue was when half-sent bodies stopped it.
HALF_SENT = 1_100
BODY_BYTES = 2**20
SENT_BYTES = 64 * 2**20
CLIENTS = 64
REFUSED = {429, 503}


@pytest.fixture(scope="module")
def address(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    name = f"test_attacks_{os.getpid()}"
    bounds = {
        "MAX_BODY_BYTES": str(BODY_BYTES),
        "PKB_BODY_TIMEOUT_S": "5",
        "PKB_WAITING_PER_PLACE": "2",
        "PKB_SEARCH_CONCURRENCY": "1",
        "PKB_LIGHT_CONCURRENCY": "2",
    }
    with (
        django_db_blocker.unblock(),
        own_database(name, embedding_model=SMALL_MODELS["EMBEDDING_MODEL"]) as database,
        served(database, **SMALL_MODELS, **bounds) as url,
    ):
        stored = httpx2.post(f"{url}/ingest", json={"text": LIGHTHOUSE, "title": "Coast"})
        assert stored.status_code == 201
        yield url


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port or 80), timeout=120)


def head(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def read_all(connection: socket.socket) -> bytes:
    content = b""
    while piece := connection.recv(65_536):
        content += piece
    return content


def test_half_sent_bodies_stop_nobody_and_are_ended(address: str, many_files: None) -> None:
    with ExitStack() as opened:
        halves = [opened.enter_context(connect(address)) for _ in range(HALF_SENT)]
        for half in halves:
            half.sendall(head("/answer", "Content-Length: 100") + b'{"q":')
        assert httpx2.get(f"{address}/health", timeout=60).status_code == 200
        answered = httpx2.get(f"{address}/answer", params={"q": LIGHTHOUSE_QUESTION}, timeout=60)
        assert answered.status_code == 200
        told = Counter(read_all(half).split(b" ")[1] for half in halves)
    assert told == {b"408": HALF_SENT}


@pytest.mark.parametrize("path", ["/health", "/ingest", "/mcp", "/nowhere"])
def test_a_body_without_a_length_is_refused_before_all_of_it_came(address: str, path: str) -> None:
    sent = 0
    with connect(address) as connection:
        connection.sendall(head(path, "Transfer-Encoding: chunked"))
        while sent < SENT_BYTES and not select([connection], [], [], 0)[0]:
            connection.sendall(b"10000\r\n" + b"x" * 2**16 + b"\r\n")
            sent += 2**16
        assert connection.recv(1_024).startswith(b"HTTP/1.1 413 ")
    assert sent < SENT_BYTES


def ask(address: str) -> httpx2.Response:
    return httpx2.get(f"{address}/answer", params={"q": LIGHTHOUSE_QUESTION}, timeout=120)


def search(address: str) -> httpx2.Response:
    return httpx2.post(f"{address}/search", json={"query": LIGHTHOUSE_QUESTION}, timeout=120)


def chat(address: str) -> httpx2.Response:
    return httpx2.post(f"{address}/chat", json={"question": LIGHTHOUSE_QUESTION}, timeout=120)


def call_tool(address: str) -> httpx2.Response:
    call = {"name": "answer", "arguments": {"question": LIGHTHOUSE_QUESTION}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accepted = {"Accept": "application/json, text/event-stream"}
    return httpx2.post(f"{address}/mcp", json=message, headers=accepted, timeout=120)


def show_schema(address: str) -> httpx2.Response:
    return httpx2.get(f"{address}/schema", timeout=120)


OTHER_DOORS = [search, call_tool, show_schema]


@pytest.mark.parametrize(
    "door",
    [ask, chat, *(pytest.param(door, marks=pytest.mark.campaign) for door in OTHER_DOORS)],
)
def test_of_too_many_some_are_answered_and_the_others_told_to_come_again(
    address: str, door: Any
) -> None:
    with ThreadPoolExecutor(CLIENTS) as clients:
        told = list(clients.map(door, [address] * CLIENTS))
    answered = [response for response in told if response.status_code == 200]
    refused = [response for response in told if response.status_code in REFUSED]
    assert answered
    assert refused
    assert len(answered) + len(refused) == CLIENTS
    assert all(int(response.headers["Retry-After"]) > 0 for response in refused)
    assert {response.json()["status"] for response in refused} <= REFUSED
    if door is chat:
        assert all("event: done" in response.text for response in answered)
    assert httpx2.get(f"{address}/health", timeout=60).json()["status"] == "healthy"


def test_streams_that_vanish_leave_their_places(address: str) -> None:
    body = json.dumps({"question": LIGHTHOUSE_QUESTION}).encode()
    for _ in range(20):
        with connect(address) as connection:
            connection.sendall(head("/chat", f"Content-Length: {len(body)}") + body)
            connection.recv(64)
    replies: list[httpx2.Response] = []
    while not replies or replies[-1].status_code in REFUSED:
        replies.append(chat(address))
    assert "event: done" in replies[-1].text


@pytest.mark.parametrize("attack", [write_from_elsewhere, poison, damage_requests, read_deleted])
def test_an_attack_is_held(address: str, attack: Any) -> None:
    outcome = asyncio.run(attack(Target(address, seconds=1)))
    assert outcome.tried > 10
    assert outcome.failures == []
