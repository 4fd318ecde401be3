"""Admission control: run, queue or reject each request before Django sees it.

`AdmissionMiddleware` is the outermost ASGI application. It runs on the event loop. A rejected
request uses no thread and no database connection, and the rest of its body is not read.

    a request
      1  a proxy forwarded it, but no login is required ............ 403
      2  it has a body, needs a login, and has no credentials ...... 401
      3  identify the caller: the user of the key or login, else the IP address
      4  it declares more bytes than its path accepts .............. 413
      5  its queue is full, and its caller waits already ........... 429, 503
      6  read the body ............................................ 408, 413, 503, 507
           over 64 KiB from an unknown caller ..................... 401
           over an eighth of the buffer from one caller ........... 429
      7  wait for a slot; callers take turns ...................... 429, 503
    Django, or /mcp

Each `Cost` has its own queue. If a login is required, all unknown callers share one queue for
everything, so they never wait in front of users (docs/decisions/0027).
"""

import asyncio
import json
from asyncio import Future
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

from accounts.authentication import find_key
from accounts.client_ip import client_network, peer_of, read_headers, resolve_client_ip
from corpus.access.principal import Principal
from corpus.api.outages import translate_error
from corpus.cores import usable_core_count
from corpus.endpoints import BodySize, Cost, Endpoint
from corpus.errors import PkbError
from pkb.http.access import NOT_LOGGED_IN, authenticate_request
from pkb.http.bodies import Body, BodyReader
from pkb.http.endpoint_lookup import MCP, SAFE_METHODS, find_endpoint, is_page
from pkb.http.exposure import PROXY_HEADERS
from pkb.http.rejections import (
    RETRY_AFTER_S,
    ClientDisconnected,
    RequestRejected,
    queue_full,
    send_rejection,
)
from qa.api.mcp.transport import admit_agent

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application: called with scope, receive and send."""
Identify = Callable[[Any], Awaitable[Principal]]
"""Returns the principal of a request, from its ASGI scope; raises ``PkbError``."""

PROXY_WITHOUT_LOGIN = (
    "A proxy forwarded this request, but no login is required: set PKB_AUTH=required"
    " (docs/explanation/security.md)."
)
# Maximum size of a tool call, except for one that ingests a text.
TOOL_CALL_BYTES = 64 * 1024
# Maximum body of an unknown caller.
ANONYMOUS_BODY_BYTES = 64 * 1024
# Extra bytes of a multipart body beside its file: other fields and boundaries.
MULTIPART_MARGIN_BYTES = 64 * 1024
# Number of bodies of maximum size that are buffered at once, for all callers together.
MAX_BUFFERED_FILES = 20
# Keep reading for this time after a rejection: if the connection is closed while the client still
# sends, the client loses the response.
LINGER_S = 2.0
# Rejections per second and IP address that are sent immediately: enough for 500 patient clients.
# Further ones are delayed, because clients that ignore Retry-After would occupy the event loop.
IMMEDIATE_REJECTIONS = 500
REJECTION_DELAY_S = 1.0
# Seconds for which a valid key or login is cached, and how many are. Django checks it at each
# request: here it decides only which queue applies, and how large a body may be.
CREDENTIAL_CACHE_S = 600.0
CREDENTIAL_CACHE_SIZE = 10_000
# Seconds without a rejection after which a queue has its full size again: twice the Retry-After.
RECOVERY_S = 2 * RETRY_AFTER_S
# Concurrent replays of a stream: each uses a thread only four times a second, for a query.
REPLAYS = 16
# Database connections reserved for streams, which run in their own threads.
STREAM_CONNECTIONS = 3
MIN_LIGHT = 2


_TOOLS = {
    "answer": Cost.ANSWER, "search": Cost.SEARCH, "count": Cost.SEARCH, "ingest": Cost.ENCODE
}  # fmt: skip


def tool_call_cost(content: bytes) -> Cost:
    """Return the cost of an MCP request, by the tool that it calls.

    Args:
        content: The first ``TOOL_CALL_BYTES`` + 1 bytes of its body.
    """
    if len(content) > TOOL_CALL_BYTES:
        return Cost.ENCODE
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        return Cost.LIGHT  # not JSON: Django answers with the error
    if isinstance(message, list):
        return Cost.ANSWER
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return Cost.LIGHT
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return _TOOLS.get(name, Cost.LIGHT) if isinstance(name, str) else Cost.LIGHT


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits of the requests of one cost.

    Attributes:
        concurrent: Requests that run at once.
        queue_size: Requests that wait, normally.
        overload_queue_size: Requests that wait after the queue was full, until nothing was
            rejected for ``RECOVERY_S``: a short queue keeps response times low under overload.
        wait_s: Maximum seconds in the queue.
    """

    concurrent: int
    queue_size: int
    overload_queue_size: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Maximum bytes of a body and of a file, and the seconds in which a small body must arrive.

    A client has the same time to read a piece of the response.
    """

    body_bytes: int
    file_bytes: int
    timeout_s: float


def queue_limits(settings: Any) -> dict[Cost, QueueLimits]:
    """Return the limits of each cost; each running request uses a database connection.

    By default, searches and encodings run one per core, at least two and at most a quarter of the
    connections; light requests use the remaining connections.
    """
    pool_size = settings.PKB_DB_POOL_SIZE
    by_cores = max(1, min(max(2, usable_core_count()), pool_size // 4))
    concurrent = {
        Cost.ANSWER: settings.PKB_ANSWER_CONCURRENCY,
        Cost.SEARCH: settings.PKB_SEARCH_CONCURRENCY or by_cores,
        Cost.ENCODE: settings.PKB_ENCODING_CONCURRENCY or by_cores,
        Cost.LOGIN: 1,
        Cost.IDENTIFY: 1,
        Cost.HEALTH: 2,
        Cost.ANONYMOUS: 2,
    }
    rest = pool_size - sum(concurrent.values()) - STREAM_CONNECTIONS
    concurrent[Cost.LIGHT] = settings.PKB_LIGHT_CONCURRENCY or max(MIN_LIGHT, rest)
    concurrent[Cost.REPLAY] = REPLAYS
    return {
        cost: QueueLimits(
            concurrent=count,
            queue_size=count * settings.PKB_WAITING_PER_PLACE,
            # Half of the running ones: the wait is half of the duration of a request.
            overload_queue_size=max(1, count // 2) if settings.PKB_WAITING_PER_PLACE else 0,
            wait_s=settings.PKB_MAX_WAIT_S,
        )
        for cost, count in concurrent.items()
    }


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: a user, or an IP address.

    Attributes:
        name: Identifies the caller in the queues. An IPv6 address counts as its /64 network.
        is_known: The key or login is valid, or no login is required.
        rejection: Response to requests that only a known caller may send.
    """

    name: str
    is_known: bool
    rejection: RequestRejected | None = None


class ConcurrencyLimiter:
    """Limits the requests of one cost, on one event loop, with a fair queue.

    Callers take turns, one request each. If the queue is full, a caller without a waiting request
    is queued nevertheless, and the caller with the most waiting requests loses its last one, if
    it has more than one.
    """

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self.active_count = 0
        # Set when the queue was full; on the event loop's clock.
        self._overloaded_until = 0.0
        # The next caller is first. A future's result: True to run, False if it lost its slot.
        self._waiting: dict[str, deque[Future[bool]]] = {}

    def check(self, caller: str) -> None:
        """Reject a request that ``acquire`` would reject immediately.

        Raises:
            RequestRejected: The queue is full.
        """
        if self.active_count < self._limits.concurrent or self._waiting_count < self._queue_size:
            return
        self._overloaded_until = asyncio.get_running_loop().time() + RECOVERY_S
        own_count = len(self._waiting.get(caller, ()))
        if own_count == 0 and len(self._waiting) < self._limits.queue_size:
            return
        if own_count + 1 >= self._most_waiting()[1]:
            raise queue_full(is_callers_own=own_count > 0)

    async def acquire(self, caller: str, *, disconnected: "Future[None]") -> None:
        """Wait for a slot; ``release`` must follow.

        Args:
            disconnected: Done when the client disconnects.

        Raises:
            RequestRejected: The queue is full, or no slot was free in time.
            ClientDisconnected: The client disconnected while it waited.
        """
        self.check(caller)
        if self.active_count < self._limits.concurrent:
            self.active_count += 1
            return
        most, count = self._most_waiting()
        if self._waiting_count >= self._queue_size and count > 1:
            self._waiting[most].pop().set_result(False)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        is_entered = False
        waiting: set[Future[Any]] = {turn, disconnected}
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=self._limits.wait_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise queue_full(is_callers_own=False)
            if disconnected.done():
                raise ClientDisconnected
            if not turn.result():
                raise queue_full(is_callers_own=True)
            is_entered = True
        finally:
            if not is_entered and turn.done() and not turn.cancelled() and turn.result():
                self.release()
            turns = self._waiting.get(caller)
            if turns and turn in turns:
                turns.remove(turn)
            if turns is not None and not turns:
                del self._waiting[caller]

    def release(self) -> None:
        """Pass the slot to the next waiting request."""
        while self._waiting:
            caller = next(iter(self._waiting))
            turns = self._waiting.pop(caller)
            turn = turns.popleft()
            if turns:
                self._waiting[caller] = turns
            if not turn.done():
                turn.set_result(True)
                return
        self.active_count -= 1

    @property
    def _waiting_count(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def _queue_size(self) -> int:
        is_overloaded = asyncio.get_running_loop().time() < self._overloaded_until
        return self._limits.overload_queue_size if is_overloaded else self._limits.queue_size

    def _most_waiting(self) -> tuple[str, int]:
        counts = ((caller, len(turns)) for caller, turns in self._waiting.items())
        return max(counts, key=lambda each: each[1], default=("", 0))


class AdmissionMiddleware:
    """Passes requests to an application, limited by cost and caller."""

    def __init__(
        self,
        application: Application,
        *,
        queues: Mapping[Cost, QueueLimits],
        bodies: BodyLimits,
        identify: Identify | None = None,
    ) -> None:
        self._application = application
        self._identify = identify or (lambda scope: asyncio.to_thread(_identify, scope))
        self._limiters = {cost: ConcurrencyLimiter(limits) for cost, limits in queues.items()}
        self._bodies = bodies
        held_bytes = MAX_BUFFERED_FILES * max(bodies.body_bytes, bodies.file_bytes)
        self._reader = BodyReader(timeout_s=bodies.timeout_s, held_bytes=held_bytes)
        # Hashes of valid credentials: the caller, and the time of expiry.
        self._known: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        # By IP address, in the current second.
        self._rejections: Counter[str] = Counter()
        self._rejections_second = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            endpoint = find_endpoint(scope["method"], scope["path"])
            check_headers(scope)
            caller = await self._find_caller(scope, endpoint)
            body = await self._read_body(scope, receive, caller, endpoint)
        except RequestRejected as rejected:
            await self._reject(rejected, scope, send)
            if rejected.status == HTTPStatus.REQUEST_TIMEOUT:  # the client sends nothing
                return
            # Read and discard what the client still sends, for a moment.
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    while (await receive()).get("more_body", False):
                        await asyncio.sleep(0)
            return
        except ClientDisconnected:
            return
        try:
            await self._run(scope, body, send, caller, endpoint)
        finally:
            self._reader.close(body)

    async def _find_caller(self, scope: Any, endpoint: Endpoint) -> Caller:
        """Return the caller; a key or login that is not cached is looked up."""
        headers = read_headers(scope["headers"])
        address = _address(scope)
        caller = client_network(address)
        if not settings.PKB_AUTH_REQUIRED:
            return Caller(caller, is_known=True)
        rejection = None if endpoint.is_open else RequestRejected(401, NOT_LOGGED_IN)
        anonymous = Caller(caller, is_known=False, rejection=rejection)
        key = None if is_page(scope["path"]) else find_key(headers)
        cookies = parse_cookie(headers.get("cookie", ""))
        credentials = key or cookies.get(settings.SESSION_COOKIE_NAME, "")
        if not credentials:
            return anonymous
        # The IP address is part of the key, because an API key may be limited to networks.
        digest = sha256(f"{credentials}\n{address}".encode()).digest()
        now = asyncio.get_running_loop().time()
        name, until = self._known.get(digest, ("", 0.0))
        if now >= until:
            limiter = self._limiters[Cost.IDENTIFY]
            await limiter.acquire(caller, disconnected=asyncio.get_running_loop().create_future())
            try:
                principal = await self._identify(scope)
            except PkbError as error:
                return Caller(
                    caller, is_known=False, rejection=RequestRejected(error.status, str(error))
                )
            finally:
                limiter.release()
            if principal.is_anonymous:
                return anonymous  # the login has expired
            name = f"user {principal.user_id}"
            self._known[digest] = (name, now + CREDENTIAL_CACHE_S)
            if len(self._known) > CREDENTIAL_CACHE_SIZE:
                self._known.popitem(last=False)
        return Caller(name, is_known=True)

    async def _read_body(
        self, scope: Any, receive: Any, caller: Caller, endpoint: Endpoint
    ) -> Body:
        """Read the body, unless the request can be rejected before."""
        max_bytes = self._bodies.body_bytes
        headers = read_headers(scope["headers"])
        is_multipart = headers.get("content-type", "").startswith("multipart/form-data")
        if endpoint.body == BodySize.SMALL:
            max_bytes = min(max_bytes, ANONYMOUS_BODY_BYTES)
        elif endpoint.body == BodySize.FILE and is_multipart:
            max_bytes = self._bodies.file_bytes + MULTIPART_MARGIN_BYTES
        needs_login = not caller.is_known and max_bytes > ANONYMOUS_BODY_BYTES
        max_bytes = ANONYMOUS_BODY_BYTES if needs_login else max_bytes
        excess = RequestRejected(413, f"The body may have at most {max_bytes:,} bytes.")
        if needs_login and caller.rejection:
            excess = caller.rejection
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > max_bytes:
            raise excess
        if scope["path"] != MCP:
            self._limiter_for(endpoint.cost, caller).check(caller.name)
        return await self._reader.read(
            receive, caller=caller.name, max_bytes=max_bytes, excess=excess
        )

    async def _run(
        self, scope: Any, body: Body, send: Any, caller: Caller, endpoint: Endpoint
    ) -> None:
        async def send_in_time(message: Any) -> None:
            """Send a message, and disconnect a client that does not read it in time."""
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._bodies.timeout_s, body.mark_disconnected)
            try:
                await send(message)
            finally:
                timer.cancel()

        cost = endpoint.cost
        if scope["path"] == MCP:
            cost = tool_call_cost(body.file.read(TOOL_CALL_BYTES + 1))
            body.file.seek(0)
        limiter = self._limiter_for(cost, caller)
        try:
            await limiter.acquire(caller.name, disconnected=body.disconnected)
        except RequestRejected as rejected:
            await self._reject(rejected, scope, send)
            return
        except ClientDisconnected:
            return
        try:
            await self._application(scope, body, send_in_time)
        finally:
            limiter.release()

    async def _reject(self, rejected: RequestRejected, scope: Any, send: Any) -> None:
        """Send a rejection, with a delay if the IP address ignores Retry-After."""
        second = int(asyncio.get_running_loop().time())
        if second != self._rejections_second:
            self._rejections_second = second
            self._rejections.clear()
        address = client_network(_address(scope))
        self._rejections[address] += 1
        if self._rejections[address] > IMMEDIATE_REJECTIONS:
            await asyncio.sleep(REJECTION_DELAY_S)
        await send_rejection(rejected, scope=scope, send=send)

    def _limiter_for(self, cost: Cost, caller: Caller) -> ConcurrencyLimiter:
        if caller.is_known or cost in {Cost.LOGIN, Cost.HEALTH}:
            return self._limiters[cost]
        return self._limiters[Cost.ANONYMOUS]


def check_headers(scope: Any) -> None:
    """Reject a request by its method, path and header names alone.

    Args:
        scope: The ASGI scope.

    Raises:
        RequestRejected: 403 if a proxy forwarded it and no login is required: everyone who reaches
            the proxy would have full access. 401 if it writes and has no credentials.
    """
    names = {name.decode("latin-1") for name, _ in scope["headers"]}
    if not settings.PKB_AUTH_REQUIRED:
        if names & PROXY_HEADERS:
            raise RequestRejected(403, PROXY_WITHOUT_LOGIN)
        return
    is_anonymous = names.isdisjoint({"authorization", "x-api-key", "cookie"})
    if is_anonymous and scope["method"] not in SAFE_METHODS:
        if find_endpoint(scope["method"], scope["path"]).is_open:
            return
        raise RequestRejected(401, NOT_LOGGED_IN)


def _identify(scope: Any) -> Principal:
    """Return the principal of a request.

    Raises:
        NotLoggedIn: The key is not valid.
        BackendUnavailable: The database is unavailable.
    """
    try:
        if scope["path"] == MCP:
            return admit_agent(read_headers(scope["headers"]), peer=peer_of(scope))
        request = ASGIRequest(scope, BytesIO())
        SessionMiddleware(lambda _: None).process_request(request)  # type: ignore[arg-type]
        request.user = get_user(request)
        return authenticate_request(request)
    except (DatabaseError, InterfaceError) as error:
        raise (translate_error(error) or error) from None
    finally:
        connections.close_all()


def _address(scope: Any) -> str:
    forwarded = read_headers(scope["headers"]).get("x-forwarded-for", "")
    return resolve_client_ip(peer_of(scope), forwarded)
