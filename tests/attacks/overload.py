"""Bodies without an end, too many clients, streams that nobody reads."""

import asyncio
import contextlib
import random
import statistics
import time
from collections import Counter
from urllib.parse import quote

from tests.attacks.target import Outcome, Target, watched

TEXT = (
    "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. Its lamp burns "
    "rapeseed oil and is seen from nineteen nautical miles away. The tower is thirty-one metres "
    "tall and stands on black basalt."
)
QUESTION = "Who built the lighthouse at Bavoke?"
QUESTION_LINE = f"GET /answer?q={quote(QUESTION)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

HEALTH_WITHIN_S = 1.0
HALF_SENT = 1_500
HUGE_BYTES = 300 * 2**20
PIECE_BYTES = 2**20
MEMORY_MARGIN_BYTES = 20 * 2**20
STREAMS = 200
SETTLING_S = 10
# Connections and threads of the pools, of which more may be open than before.
POOLED = 8

REFUSED = {429, 503}
REFUSED_WITHIN_S = 0.1
# Between half as patient and as patient as it is told to be.
REFUSED_PAUSES_S = (1.0, 2.0)
UNLOADED_ANSWERS = 30
# Of an accepted answer's p95, beside that of a client alone.
MAX_SLOWDOWN = 3


def head(path: str, **headers: object) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


async def send_halves(target: Target) -> Outcome:
    """Begin 1,500 bodies and send no more of them."""
    outcome, writers = Outcome(), []
    async with watched(target) as health:
        for _ in range(HALF_SENT):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(target.host, target.port)
                writer.write(head("/answer", Content_Length=100) + b'{"q":')
                writers.append(writer)
        await asyncio.sleep(target.seconds)
    for writer in writers:
        writer.close()
    outcome.check(health.worst_s < HEALTH_WITHIN_S, "/health waited")
    outcome.tried = HALF_SENT
    outcome.seen = str(health)
    return outcome


async def send_chunks(target: Target) -> Outcome:
    """Send 300 MB in chunks, which nothing declares, also to paths that read no body."""
    outcome, most = Outcome(), 0
    async with watched(target) as health:
        for path in ("/health", "/ingest", "/search", "/mcp", "/admin/login/", "/nowhere"):
            before = target.memory_bytes()
            status = await send_chunked(target, path)
            grown = target.most_memory_bytes() - before
            most = max(most, grown)
            outcome.check(status == "413", f"{path}: {status}")
            outcome.check(grown < MEMORY_MARGIN_BYTES, f"{path}: {grown / 2**20:+.0f} MB")
    outcome.check(health.worst_s < HEALTH_WITHIN_S, "/health waited")
    outcome.seen = f"memory {most / 2**20:+.0f} MB at most; {health}"
    return outcome


async def send_chunked(target: Target, path: str) -> str:
    reader, writer = await asyncio.open_connection(target.host, target.port)
    writer.write(head(path, Transfer_Encoding="chunked"))
    piece = b"%x\r\n" % PIECE_BYTES + b"x" * PIECE_BYTES + b"\r\n"
    sent = 0
    with contextlib.suppress(OSError):
        while sent < HUGE_BYTES and not reader._buffer:  # type: ignore[attr-defined]
            writer.write(piece)
            await writer.drain()
            sent += PIECE_BYTES
        if sent >= HUGE_BYTES:
            writer.write(b"0\r\n\r\n")
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        answer = await asyncio.wait_for(reader.read(64), 60)
    writer.close()
    return answer.split(b" ")[1].decode() if b" " in answer else "no answer"


async def ask_64(target: Target) -> Outcome:
    """Have 64 clients ask one question after the other."""
    return await ask_together(target, clients=64)


async def ask_500(target: Target) -> Outcome:
    """Have 500 clients ask one question after the other."""
    return await ask_together(target, clients=500)


async def ask_together(target: Target, *, clients: int) -> Outcome:
    alone_s = await ask_alone(target)
    times: dict[int, list[float]] = {}
    lost: Counter[str] = Counter()
    async with watched(target) as health:
        until = time.perf_counter() + target.seconds
        asking = (ask_until(target, until, times, lost) for _ in range(clients))
        await asyncio.gather(*asking)
    outcome = Outcome()
    for status, taken in times.items():
        outcome.tried += len(taken)
        if status not in {200, *REFUSED}:
            outcome.failures += [f"status {status}"] * len(taken)
    refused = sorted(each for status in REFUSED for each in times.get(status, ()))
    slowdown = percentile(sorted(times.get(200, [float("inf")])), 95) / alone_s
    outcome.check(not lost, f"connections lost: {dict(lost)}")
    outcome.check(slowdown <= MAX_SLOWDOWN, f"answers are {slowdown:.1f} times as slow")
    late = percentile(refused, 95) > REFUSED_WITHIN_S
    outcome.check(not late, f"refused after {percentile(refused, 95) * 1000:.0f} ms")
    outcome.check(health.worst_s < HEALTH_WITHIN_S, "/health waited")
    outcome.seen = (
        f"{describe(times.get(200, []))} ({slowdown:.1f} x alone); refused {describe(refused)}; "
        f"{health}"
    )
    return outcome


async def ask_alone(target: Target) -> float:
    """Return the p95 of the answers to one client that is alone, in seconds."""
    connection = await asyncio.open_connection(target.host, target.port)
    taken = []
    for _ in range(UNLOADED_ANSWERS):
        started = time.perf_counter()
        await ask_once(*connection)
        taken.append(time.perf_counter() - started)
    connection[1].close()
    return percentile(sorted(taken), 95)


async def ask_until(
    target: Target, until: float, times: dict[int, list[float]], lost: Counter[str]
) -> None:
    connection = None
    while time.perf_counter() < until:
        started = time.perf_counter()
        try:
            connection = connection or await asyncio.open_connection(target.host, target.port)
            status = await ask_once(*connection)
        except OSError as error:
            lost[type(error).__name__] += 1
            connection = None
            continue
        times.setdefault(status, []).append(time.perf_counter() - started)
        if status in REFUSED:
            await asyncio.sleep(random.uniform(*REFUSED_PAUSES_S))  # noqa: S311


async def ask_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """Ask the question over a connection that stays open; return the status of its answer."""
    writer.write(QUESTION_LINE)
    try:
        told = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in told.lower().split(b"\r\n") if line.startswith(b"content-len")]
        await reader.readexactly(int(lengths[0].split(b":")[1]))
    except asyncio.IncompleteReadError as error:
        raise ConnectionError from error
    return int(told.split(b" ")[1])


def percentile(ordered: list[float], share: int) -> float:
    return ordered[len(ordered) * share // 100] if ordered else 0.0


def describe(times_s: list[float]) -> str:
    if not times_s:
        return "none"
    ordered = sorted(times_s)
    median, late = statistics.median(ordered) * 1000, percentile(ordered, 95) * 1000
    return f"{len(ordered)}, p50 {median:.0f}, p95 {late:.0f}, worst {ordered[-1] * 1000:.0f} ms"


async def leave_streams(target: Target) -> Outcome:
    """Open 200 streams and leave each as it begins."""
    outcome = Outcome()
    await asyncio.sleep(SETTLING_S / 5)
    files, threads = target.file_count(), target.thread_count()
    body = b'{"question": "%s"}' % QUESTION.encode()
    async with watched(target) as health:
        for _ in range(STREAMS):
            _, writer = await asyncio.open_connection(target.host, target.port)
            writer.write(head("/chat", Content_Length=len(body)) + body)
            await asyncio.sleep(0.02)
            writer.transport.abort()
        await asyncio.sleep(SETTLING_S)
    more_files, more_threads = target.file_count() - files, target.thread_count() - threads
    outcome.check(more_files <= POOLED, f"{more_files} more open files")
    outcome.check(more_threads <= POOLED, f"{more_threads} more threads")
    outcome.check(health.worst_s < HEALTH_WITHIN_S, "/health waited")
    outcome.tried = STREAMS
    outcome.seen = f"files {more_files:+d}, threads {more_threads:+d}; {health}"
    return outcome


async def leave_answers_unread(target: Target) -> Outcome:
    """Ask for 200 pages and read nothing of them."""
    outcome, writers = Outcome(), []
    async with watched(target) as health:
        for _ in range(STREAMS):
            _, writer = await asyncio.open_connection(target.host, target.port)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(b"GET /schema HTTP/1.1\r\nHost: localhost\r\n\r\n")
            writers.append(writer)
        await asyncio.sleep(target.seconds)
    for writer in writers:
        writer.transport.abort()
    outcome.check(health.worst_s < HEALTH_WITHIN_S, "/health waited")
    outcome.tried = STREAMS
    outcome.seen = str(health)
    return outcome


async def send_one_key(target: Target) -> Outcome:
    """Send one Idempotency-Key 40 times at once, with much text."""
    text = " ".join(f"{TEXT} Note {number}." for number in range(400))
    outcome = Outcome()
    async with target.client() as client, watched(target) as health:
        sending = [
            client.post("/ingest", json={"text": text}, headers={"Idempotency-Key": "one"})
            for _ in range(40)
        ]
        statuses = Counter(reply.status_code for reply in await asyncio.gather(*sending))
    for status, count in statuses.items():
        for _ in range(count):
            outcome.check(status in {200, 201, 409, *REFUSED}, f"status {status}")
    outcome.check(health.worst_s < HEALTH_WITHIN_S, "/health waited")
    outcome.seen = f"{dict(statuses)}; {health}"
    return outcome
