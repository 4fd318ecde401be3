"""Admission: which requests run now, which wait, and which are refused before Django sees them.

`Admission` is the outermost ASGI application. It works on the event loop: a refused request costs
no thread, no database connection, and no byte of its body that had not arrived already.

    a request
      1  a proxy forwarded it, though no login is required ......... 403
      2  it has a body, needs a login, and brings no credentials ... 401
      3  who asks?  The user of a valid key or login; else the address
      4  it declares more bytes than its path takes ................ 413
      5  its queue is full, and its caller has a turn already ...... 429, 503
      6  its body arrives ......................................... 408, 413, 503, 507
           more than 64 KiB only of a known caller ................ 401
           more than an eighth of what all may hold ............... 429
      7  it waits for its turn; callers take turns ................. 429, 503
    Django, or /mcp

Each `Cost` has a queue of its own. Where a login is required, whoever is not known has one queue
for everything, so that strangers never wait in front of users (docs/decisions/0027).
"""

import asyncio
import json
import os
from asyncio import Future, TimerHandle
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError, InterfaceError, connections
from django.http import parse_cookie

from accounts.addresses import find_client, network_of, read_headers
from accounts.authentication import find_key
from corpus.access.principal import Principal
from corpus.api.outages import as_pkb_error
from corpus.endpoints import Body as BodySize
from corpus.endpoints import Cost, Endpoint
from corpus.errors import PkbError
from pkb.http.access import find_principal
from pkb.http.bodies import Body, BodyReader
from pkb.http.endpoints import MCP, SAFE_METHODS, find_endpoint, is_page
from pkb.http.exposure import FORWARDING
from pkb.http.refusals import RETRY_AFTER_S, ClientLeft, Refused, busy, tell
from qa.api.mcp.transport import admit_agent

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""Of ASGI: its scope, receive and send."""
Identify = Callable[[Any], Awaitable[Principal]]
"""Returns whose key or login a request brings, from its scope; raises ``PkbError``."""

NOT_LOGGED_IN = "Log in, or send a key: Authorization: Bearer KEY."
FORWARDED = (
    "This was forwarded by a proxy, and no login is asked for: set PKB_AUTH=required"
    " (docs/explanation/security.md)."
)
# Of a tool call; only a text that is to be ingested is longer.
TOOL_CALL_BYTES = 64 * 1024
# Of a body that is read before the caller is known.
STRANGERS_BODY_BYTES = 64 * 1024
# What a multipart body adds to the file it carries: its other fields and boundaries.
MULTIPART_MARGIN_BYTES = 64 * 1024
# Largest files whose bodies are held at once, of all callers together.
HELD_FILES = 20
# A client that is still sending must have the time to read why it was refused: a connection that
# is closed before loses the response.
LINGER_S = 2.0
# Refusals of one address in a second that are told at once: what 500 patient clients would get.
# Who asks again before it is told to takes the event loop from others; it is told a second late.
PROMPT_REFUSALS = 500
LATE_REFUSAL_S = 1.0
# Seconds after which a key or login is looked up again, and how many are remembered. Django checks
# it at each request: here it decides only whose turn it is, and how large a body may be.
KNOWN_S = 600.0
KNOWN_COUNT = 10_000
# Seconds without a refusal after which a queue has all its room again: twice as long as a refused
# client is told to stay away.
CALM_S = 2 * RETRY_AFTER_S
# Requests that read a stream again hold a thread only four times a second, for a query.
REPLAYS = 16
# Connections that no queue counts: those of streams, which are told from threads of their own.
SPARE_CONNECTIONS = 3
LEAST_LIGHT = 2


_TOOLS = {"answer": Cost.ANSWER, "search": Cost.SEARCH, "ingest": Cost.ENCODE}


def cost_of_tool_call(content: bytes) -> Cost:
    """Return what an MCP request costs, by the tool that it calls.

    Args:
        content: Its body, of which no more than ``TOOL_CALL_BYTES`` and one are looked at.
    """
    if len(content) > TOOL_CALL_BYTES:
        return Cost.ENCODE
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        return Cost.LIGHT  # no JSON: the response says so
    if isinstance(message, list):
        return Cost.ANSWER
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return Cost.LIGHT
    called = message.get("params")
    name = called.get("name") if isinstance(called, dict) else None
    return _TOOLS.get(name, Cost.LIGHT) if isinstance(name, str) else Cost.LIGHT


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """How many requests of one cost run at once, how many more wait, and how long at most.

    Attributes:
        waiting: Of a burst: all of it is served, the last after all others.
        standing: Once more came than could wait, until nobody was refused for ``CALM_S``: those
            that are let in then are served about as fast as ever.
        wait_s: Seconds.
    """

    running: int
    waiting: int
    standing: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """Bytes of a body without a file, and of a file; seconds in which a small one must be there.

    A client has the same time to read a piece of what it is sent.
    """

    body_bytes: int
    file_bytes: int
    timeout_s: float


def queue_bounds(given: Any) -> dict[Cost, QueueBounds]:
    """Return the bounds of each cost; those that run have a database connection each.

    Where the settings leave it open, searches and encodings run one a core, two at least and a
    quarter of the connections at most; light requests have the connections that are left.
    """
    pool_size = given.PKB_DB_POOL_SIZE
    by_cores = max(1, min(max(2, os.cpu_count() or 1), pool_size // 4))
    running = {
        Cost.ANSWER: given.PKB_ANSWER_CONCURRENCY,
        Cost.SEARCH: given.PKB_SEARCH_CONCURRENCY or by_cores,
        Cost.ENCODE: given.PKB_ENCODING_CONCURRENCY or by_cores,
        Cost.LOGIN: 1,
        Cost.IDENTIFY: 1,
        Cost.HEALTH: 2,
        Cost.STRANGER: 2,
    }
    left = pool_size - sum(running.values()) - SPARE_CONNECTIONS
    running[Cost.LIGHT] = given.PKB_LIGHT_CONCURRENCY or max(LEAST_LIGHT, left)
    running[Cost.REPLAY] = REPLAYS
    return {
        cost: QueueBounds(
            running=count,
            waiting=count * given.PKB_WAITING_PER_PLACE,
            # Half of those that run: the wait is half of the time that one takes.
            standing=max(1, count // 2) if given.PKB_WAITING_PER_PLACE else 0,
            wait_s=given.PKB_MAX_WAIT_S,
        )
        for cost, count in running.items()
    }


def body_bounds(given: Any) -> BodyBounds:
    return BodyBounds(
        body_bytes=given.PKB_MAX_BODY_BYTES,
        file_bytes=given.PKB_MAX_FILE_BYTES,
        timeout_s=given.PKB_BODY_TIMEOUT_S,
    )


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: a user, or an address.

    Attributes:
        name: Callers take turns by it. An IPv6 address counts as its /64 network.
        is_known: A valid key or login, or no login is required.
        refusal: Of what only a known caller may send.
    """

    name: str
    is_known: bool
    refusal: Refused | None = None


class Queue:
    """The requests of one cost: those that run, and those that wait. One event loop's own.

    Callers take turns: each is let in once before one is let in again. Where all room to wait is
    taken, a caller of whom nobody waits is let in all the same, and the caller with the most
    waiting requests loses one, as long as it keeps one.
    """

    def __init__(self, bounds: QueueBounds) -> None:
        self._bounds = bounds
        self.running_count = 0
        # More came than could wait; on the event loop's clock.
        self._crowded_until = 0.0
        # Whose turn is next is first. A future's result: its turn has come, or it must go.
        self._waiting: dict[str, deque[Future[bool]]] = {}

    def check(self, caller: str) -> None:
        """Say what ``enter`` would say now.

        Raises:
            Refused: There is no room to wait in.
        """
        if self.running_count < self._bounds.running or self._waiting_count < self._room:
            return
        self._crowded_until = asyncio.get_running_loop().time() + CALM_S
        own_count = len(self._waiting.get(caller, ()))
        if own_count == 0 and len(self._waiting) < self._bounds.waiting:
            return
        if own_count + 1 >= self._most_waiting()[1]:
            raise busy(is_callers_own=own_count > 0)

    async def enter(self, caller: str, *, left: "Future[None]") -> None:
        """Wait for a turn; ``leave`` must follow.

        Args:
            left: Is done once the client has left.

        Raises:
            Refused: There is no room to wait in, or no turn came in time.
            ClientLeft: The client left while it waited.
        """
        self.check(caller)
        if self.running_count < self._bounds.running:
            self.running_count += 1
            return
        most, count = self._most_waiting()
        if self._waiting_count >= self._room and count > 1:
            self._waiting[most].pop().set_result(False)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        is_entered = False
        try:
            await self._wait(turn, left)
            is_entered = True
        finally:
            if not is_entered and turn.done() and not turn.cancelled() and turn.result():
                self.leave()
            turns = self._waiting.get(caller)
            if turns and turn in turns:
                turns.remove(turn)
            if turns is not None and not turns:
                del self._waiting[caller]

    def leave(self) -> None:
        """Give the turn to the next that waits."""
        while self._waiting:
            caller = next(iter(self._waiting))
            turns = self._waiting.pop(caller)
            turn = turns.popleft()
            if turns:
                self._waiting[caller] = turns
            if not turn.done():
                turn.set_result(True)
                return
        self.running_count -= 1

    async def _wait(self, turn: "Future[bool]", left: "Future[None]") -> None:
        try:
            async with asyncio.timeout(self._bounds.wait_s):
                waiting: set[Future[Any]] = {turn, left}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise busy(is_callers_own=False) from None
        if left.done():
            raise ClientLeft
        if not turn.result():
            raise busy(is_callers_own=True)

    @property
    def _waiting_count(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def _room(self) -> int:
        is_crowded = asyncio.get_running_loop().time() < self._crowded_until
        return self._bounds.standing if is_crowded else self._bounds.waiting

    def _most_waiting(self) -> tuple[str, int]:
        counts = ((caller, len(turns)) for caller, turns in self._waiting.items())
        return max(counts, key=lambda each: each[1], default=("", 0))


class Admission:
    """Lets requests through to an application, by what they cost and who asks."""

    def __init__(
        self,
        application: Application,
        *,
        queues: Mapping[Cost, QueueBounds],
        bodies: BodyBounds,
        identify: Identify | None = None,
    ) -> None:
        self._application = application
        self._identify = identify or _identify
        self._queues = {cost: Queue(bounds) for cost, bounds in queues.items()}
        self._bodies = bodies
        held_bytes = HELD_FILES * max(bodies.body_bytes, bodies.file_bytes)
        self._reader = BodyReader(timeout_s=bodies.timeout_s, held_bytes=held_bytes)
        # Valid credentials, hashed: whose they are, and until when that is believed.
        self._known: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        # Of each address in the current second.
        self._refusals: Counter[str] = Counter()
        self._refusals_second = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            endpoint = find_endpoint(scope["method"], scope["path"])
            check_headers(scope)
            caller = await self._find_caller(scope, endpoint)
            body = await self._read_body(scope, receive, caller, endpoint)
        except Refused as refused:
            await self._refuse(refused, scope, send)
            await _linger(receive, refused)
            return
        except ClientLeft:
            return
        try:
            await self._run(scope, body, send, caller, endpoint)
        finally:
            self._reader.close(body)

    async def _find_caller(self, scope: Any, endpoint: Endpoint) -> Caller:
        """Return who asks; a key or login that was not seen for a minute is looked up."""
        headers = read_headers(scope["headers"])
        address = _address(scope)
        caller = network_of(address)
        if not settings.PKB_AUTH_REQUIRED:
            return Caller(caller, is_known=True)
        refusal = None if endpoint.is_open else Refused(401, NOT_LOGGED_IN)
        stranger = Caller(caller, is_known=False, refusal=refusal)
        key = None if is_page(scope["path"]) else find_key(headers)
        cookies = parse_cookie(headers.get("cookie", ""))
        credentials = key or cookies.get(settings.SESSION_COOKIE_NAME, "")
        if not credentials:
            return stranger
        # A key may be bound to networks.
        digest = sha256(f"{credentials}\n{address}".encode()).digest()
        now = asyncio.get_running_loop().time()
        name, until = self._known.get(digest, ("", 0.0))
        if now >= until:
            queue = self._queues[Cost.IDENTIFY]
            await queue.enter(caller, left=asyncio.get_running_loop().create_future())
            try:
                principal = await self._identify(scope)
            except PkbError as error:
                return Caller(caller, is_known=False, refusal=Refused(error.status, str(error)))
            finally:
                queue.leave()
            if principal.is_stranger:
                return stranger  # of a login that has ended
            name = f"user {principal.user_id}"
            self._known[digest] = (name, now + KNOWN_S)
            if len(self._known) > KNOWN_COUNT:
                self._known.popitem(last=False)
        return Caller(name, is_known=True)

    async def _read_body(
        self, scope: Any, receive: Any, caller: Caller, endpoint: Endpoint
    ) -> Body:
        """Read the body, unless it can be told before that the request is refused."""
        max_bytes = self._bodies.body_bytes
        is_multipart = _header(scope, b"content-type").startswith(b"multipart/form-data")
        if endpoint.body == BodySize.SMALL:
            max_bytes = min(max_bytes, STRANGERS_BODY_BYTES)
        elif endpoint.body == BodySize.FILE and is_multipart:
            max_bytes = self._bodies.file_bytes + MULTIPART_MARGIN_BYTES
        needs_login = not caller.is_known and max_bytes > STRANGERS_BODY_BYTES
        max_bytes = STRANGERS_BODY_BYTES if needs_login else max_bytes
        excess = Refused(413, f"The body may have at most {max_bytes:,} bytes.")
        if needs_login and caller.refusal:
            excess = caller.refusal
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > max_bytes:
            raise excess
        if scope["path"] != MCP:
            self._queue_of(endpoint.cost, caller).check(caller.name)
        return await self._reader.read(
            receive, caller=caller.name, max_bytes=max_bytes, excess=excess
        )

    async def _run(
        self, scope: Any, body: Body, send: Any, caller: Caller, endpoint: Endpoint
    ) -> None:
        cost = endpoint.cost
        if scope["path"] == MCP:
            cost = cost_of_tool_call(body.file.read(TOOL_CALL_BYTES + 1))
            body.file.seek(0)
        queue = self._queue_of(cost, caller)
        try:
            await queue.enter(caller.name, left=body.left)
        except Refused as refused:
            await self._refuse(refused, scope, send)
            return
        except ClientLeft:
            return
        try:
            sender = _Sender(body, send, timeout_s=self._bodies.timeout_s)
            await self._application(scope, body, sender)
        finally:
            queue.leave()

    async def _refuse(self, refused: Refused, scope: Any, send: Any) -> None:
        """Send a refusal; late to an address that asks again at once instead of when it is told."""
        second = int(asyncio.get_running_loop().time())
        if second != self._refusals_second:
            self._refusals_second = second
            self._refusals.clear()
        address = network_of(_address(scope))
        self._refusals[address] += 1
        if self._refusals[address] > PROMPT_REFUSALS:
            await asyncio.sleep(LATE_REFUSAL_S)
        await tell(refused, scope=scope, send=send)

    def _queue_of(self, cost: Cost, caller: Caller) -> Queue:
        if caller.is_known or cost in {Cost.LOGIN, Cost.HEALTH}:
            return self._queues[cost]
        return self._queues[Cost.STRANGER]


class _Sender:
    """Sends on; a client that does not read what it is sent in its time is given up."""

    def __init__(self, body: Body, send: Any, *, timeout_s: float) -> None:
        self._body = body
        self._send = send
        self._timeout_s = timeout_s

    async def __call__(self, message: Any) -> None:
        loop = asyncio.get_running_loop()
        timer: TimerHandle = loop.call_later(self._timeout_s, self._body.give_up_client)
        try:
            await self._send(message)
        finally:
            timer.cancel()


def check_headers(scope: Any) -> None:
    """Refuse what the method, path and names of headers suffice to refuse.

    Args:
        scope: ASGI's, of a request.

    Raises:
        Refused: 403 where a proxy sent it and no login is required: whoever reaches the proxy
            would be the owner. 401 where it would change something and brings no credentials.
    """
    names = {name.decode("latin-1") for name, _ in scope["headers"]}
    if not settings.PKB_AUTH_REQUIRED:
        if names & FORWARDING:
            raise Refused(403, FORWARDED)
        return
    is_anonymous = names.isdisjoint({"authorization", "x-api-key", "cookie"})
    if is_anonymous and scope["method"] not in SAFE_METHODS:
        if find_endpoint(scope["method"], scope["path"]).is_open:
            return
        raise Refused(401, NOT_LOGGED_IN)


async def _identify(scope: Any) -> Principal:
    return await asyncio.to_thread(_identify_on_thread, scope)


def _identify_on_thread(scope: Any) -> Principal:
    """Return whose key or login a request brings.

    Raises:
        NotLoggedIn: The key opens nothing.
        BackendUnavailable: Nobody can tell.
    """
    try:
        if scope["path"] == MCP:
            return admit_agent(read_headers(scope["headers"]), peer=_peer(scope))
        request = ASGIRequest(scope, BytesIO())
        SessionMiddleware(lambda _: None).process_request(request)  # type: ignore[arg-type]
        request.user = get_user(request)
        return find_principal(request)
    except (DatabaseError, InterfaceError) as error:
        raise (as_pkb_error(error) or error) from None
    finally:
        connections.close_all()


def _peer(scope: Any) -> str:
    return str((scope.get("client") or [""])[0])


def _address(scope: Any) -> str:
    forwarded = read_headers(scope["headers"]).get("x-forwarded-for", "")
    return find_client(_peer(scope), forwarded)


def _header(scope: Any, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


async def _linger(receive: Any, refused: Refused) -> None:
    """Take in for a moment what a refused client is still sending, and keep nothing of it."""
    if refused.status == HTTPStatus.REQUEST_TIMEOUT:  # it sends nothing
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while (await receive()).get("more_body", False):
                await asyncio.sleep(0)
