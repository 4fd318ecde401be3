"""One client crowds, and a second one asks: what the second is let in for, and how fast.

The service requires a login. The crowd is a process of its own, so that it does not slow the
second client down by itself.
"""

import asyncio
import contextlib
import json
import multiprocessing
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from urllib.parse import quote, urlencode

import httpx2

from tests.attacks.overload import QUESTION, TEXT, percentile
from tests.attacks.target import Outcome
from tests.support.own_service import ROOT, OwnService, own_service

CROWD_S = 14.0
RETRY_DELAY_S = 0.05
SECOND_EVERY_S = 0.2
ALONE_COUNT = 40
MIN_LET_IN = 0.9
MAX_SLOWDOWN = 3.0
# A p95 below this is a p95 of the machine's own noise.
NOISE_S = 0.05
REFUSED = {429, 503}
OWN, OTHER = "127.0.0.1", "127.0.0.2"
HALF_SENT = 22
HALF_SENT_BYTES = 50 * 2**20
HEALTH_CONNECTIONS = 200


@dataclass(frozen=True)
class Request:
    """An HTTP request as it is sent; ``{n}`` in its body is another number each time."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""

    def encode(self, number: int) -> bytes:
        body = self.body.replace("{n}", str(number)).encode()
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True)
class Crowd:
    """Clients that ask again as soon as they are answered or refused."""

    request: Request
    clients: int
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Users:
    """The service, and the keys of two of its users."""

    url: str
    ida: str
    eve: str

    @property
    def port(self) -> int:
        return httpx2.URL(self.url).port or 80


@contextlib.contextmanager
def service_with_users() -> Iterator[Users]:
    with own_service(PKB_AUTH="required", PKB_ANSWER_CACHE="0") as service:
        users = Users(service.url, _add_user(service, "ida"), _add_user(service, "eve"))
        for key in (users.ida, users.eve):
            stored = httpx2.post(
                f"{users.url}/ingest",
                json={"text": TEXT, "source_uri": "note:attack"},
                headers={"X-API-Key": key},
                timeout=60,
            )
            stored.raise_for_status()
        yield users


def _add_user(service: OwnService, name: str) -> str:
    script = (
        "from django.contrib.auth import get_user_model as m; from accounts.keys import create_key;"
        f"u = m().objects.create_user('{name}', password='{name}-of-bavoke');"
        "print('KEY', create_key(u, name='attack', scopes=['read', 'ingest'])[1])"
    )
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "shell", "-c", script],
        env=service.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.rpartition("KEY ")[2].strip()


def crowd_out(users: Users) -> Iterator[tuple[str, Outcome]]:
    """Yield each attack's name and outcome; the second client must be served beside each."""
    ask = f"/answer?q={quote(QUESTION)}"
    eve, ida = {"X-API-Key": users.eve}, {"X-API-Key": users.ida}
    many = tuple(f"127.0.{each // 200 + 1}.{each % 200 + 1}" for each in range(240))
    answers = Request("GET", ask, ida)
    login, form = Request("GET", "/ui/login"), _wrong_logins(users)
    ingest = Request("POST", "/ingest", {**ida, "Content-Type": "application/json"}, "{}")
    crowds = {
        "ask-own": (Crowd(Request("GET", ask, eve), 40, (OWN,)), answers),
        "ask-other": (Crowd(Request("GET", ask, eve), 40, (OTHER,)), answers),
        "ask-240": (Crowd(Request("GET", ask, eve), 60, many), answers),
        "login-other": (Crowd(form, 40, (OTHER,)), login),
        "login-240": (Crowd(form, 60, many), ingest),
        "search-bad": (
            Crowd(_search(users.eve, top_k=400), 30, (OTHER,)), _search(users.ida, top_k=10),
        ),
        "forged-240": (
            Crowd(Request("GET", ask, {"X-API-Key": "pkb_" + "0" * 64}), 60, many), answers,
        ),
        "health": (
            Crowd(Request("GET", "/health"), HEALTH_CONNECTIONS, (OTHER,)),
            Request("GET", "/tags", ida),
        ),
    }  # fmt: skip
    for name, (crowd, second) in crowds.items():
        yield name, _ask_beside(users, crowd, second)
    yield "half-sent", asyncio.run(_hold_bodies(users, stranger=True))
    yield "half-files", asyncio.run(_hold_bodies(users, stranger=False))


def _search(key: str, *, top_k: int) -> Request:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    return Request("POST", "/search", headers, json.dumps({"query": QUESTION, "top_k": top_k}))


def _wrong_logins(users: Users) -> Request:
    """Return a login with a password that is tried: it has the token of the form."""
    page = httpx2.get(f"{users.url}/ui/login")
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)[0]
    cookies = "; ".join(f"{name}={value}" for name, value in page.cookies.items())
    content = urlencode({"csrfmiddlewaretoken": token, "password": "wrong"})
    headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
    return Request("POST", "/ui/login", headers, content + "&username=nobody{n}")


def _ask_beside(users: Users, crowd: Crowd, second: Request) -> Outcome:
    alone = asyncio.run(_ask_again(users.port, second, count=ALONE_COUNT))
    begins, ends = multiprocessing.Event(), multiprocessing.Event()
    crowding = multiprocessing.Process(target=_crowd, args=(users.port, crowd, begins, ends))
    crowding.start()
    try:
        begins.wait(60)
        beside = asyncio.run(_ask_again(users.port, second, seconds=CROWD_S))
    finally:
        ends.set()
        crowding.join()
    return _compare(alone, beside)


def _compare(alone: list[tuple[int, float]], beside: list[tuple[int, float]]) -> Outcome:
    let_in = sorted(taken for status, taken in beside if status not in REFUSED)
    before_s = percentile(sorted(taken for _, taken in alone), 95)
    slowdown = percentile(let_in, 95) / max(before_s, NOISE_S)
    outcome = Outcome(tried=len(beside))
    outcome.failures += ["refused"] * (len(beside) - len(let_in))
    if len(let_in) >= MIN_LET_IN * len(beside):
        outcome.failures = []
    if slowdown > MAX_SLOWDOWN:
        outcome.failures.append(f"{slowdown:.1f} times as slow as alone")
    statuses = dict(Counter(status for status, _ in beside))
    outcome.seen = (
        f"let in {len(let_in)} of {len(beside)} {statuses}, p95 {percentile(let_in, 95):.2f} s "
        f"beside {before_s:.2f} alone ({slowdown:.1f} x)"
    )
    return outcome


async def _ask_again(
    port: int, request: Request, *, count: int = 10_000, seconds: float = 10_000
) -> list[tuple[int, float]]:
    """Send a request every fifth of a second; return each status and its time in seconds."""
    found = []
    connection = None
    until = time.perf_counter() + seconds
    for number in range(count):
        started = time.perf_counter()
        if started > until:
            break
        connection = connection or await asyncio.open_connection("127.0.0.1", port)
        status, is_open = await _exchange(*connection, request.encode(number))
        found.append((status, time.perf_counter() - started))
        connection = connection if is_open else None
        await asyncio.sleep(SECOND_EVERY_S)
    return found


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, bool]:
    """Send a request and read its response; return the status, and whether both go on."""
    writer.write(request)
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"\r\ncontent-length: *(\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
    except asyncio.IncompleteReadError as error:
        raise ConnectionError from error
    is_open = length is not None and b"\r\nconnection: close" not in head
    if not is_open:
        writer.close()
    return int(head.split(b" ")[1]), is_open


def _crowd(port: int, crowd: Crowd, begins: Event, ends: Event) -> None:
    asyncio.run(_crowd_until(port, crowd, begins, ends))


async def _crowd_until(port: int, crowd: Crowd, begins: Event, ends: Event) -> None:
    async def ask(client: int) -> None:
        connection = None
        number = 0
        while not ends.is_set():
            number += 1
            address = crowd.addresses[(client + number * crowd.clients) % len(crowd.addresses)]
            try:
                if connection is None or len(crowd.addresses) > 1:
                    if connection:
                        connection[1].close()
                    connection = await asyncio.open_connection(
                        "127.0.0.1", port, local_addr=(address, 0)
                    )
                content = crowd.request.encode(client * 1_000_000 + number)
                _, is_open = await _exchange(*connection, content)
                connection = connection if is_open else None
            except OSError:
                connection = None
            await asyncio.sleep(RETRY_DELAY_S)

    asking = [asyncio.create_task(ask(client)) for client in range(crowd.clients)]
    await asyncio.sleep(1)
    begins.set()
    while not ends.is_set():
        await asyncio.sleep(0.1)
    for each in asking:
        each.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


async def _hold_bodies(users: Users, *, stranger: bool) -> Outcome:
    """Hold bodies of 50 MB, each but its last byte; others must be served meanwhile."""
    path = "/ui/login" if stranger else "/ingest"
    head = [
        f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {HALF_SENT_BYTES}",
        "Content-Type: multipart/form-data; boundary=x",
        *([] if stranger else [f"X-API-Key: {users.eve}"]), "", "",
    ]  # fmt: skip
    writers = []

    async def begin() -> None:
        with contextlib.suppress(OSError, TimeoutError):
            _, writer = await asyncio.open_connection("127.0.0.1", users.port)
            writers.append(writer)
            writer.write("\r\n".join(head).encode())
            for _ in range(HALF_SENT_BYTES // 2**20):
                writer.write(b"x" * (2**20 - 1))
                await asyncio.wait_for(writer.drain(), 10)

    await asyncio.gather(*(begin() for _ in range(HALF_SENT)))
    outcome = Outcome()
    ida = {"X-API-Key": users.ida, "Content-Type": "application/json"}
    # More than lies in memory, so that it needs room among what is held.
    text = json.dumps({"text": f"{TEXT} " * 200 + "Note {n}."})
    requests = [_search(users.ida, top_k=10), Request("POST", "/ingest", ida, text)]
    requests.append(_wrong_logins(users))
    statuses: Counter[int] = Counter()
    for number in range(3):
        for request in requests:
            connection = await asyncio.open_connection(
                "127.0.0.1", users.port, local_addr=(OTHER, 0)
            )
            status, _ = await _exchange(*connection, request.encode(number + 10 * stranger))
            connection[1].close()
            statuses[status] += 1
            outcome.check(status not in REFUSED, f"{request.path}: {status}")
    for writer in writers:
        writer.close()
    outcome.seen = f"{HALF_SENT} bodies held; others got {dict(statuses)}"
    return outcome
