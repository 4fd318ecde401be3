"""Attack a running service in the ways that one client can, and time /health beside each.

Each line tells what was tried and whether it held. Start a server first, of its own and with
nothing to lose (``manage.py serve``), then:

    python benchmarks/overload.py http://127.0.0.1:8000
    python benchmarks/overload.py http://127.0.0.1:8000 --only half chunked --seconds 20

Memory, threads and open files are those of the process that listens there, where it is one of
this machine. No status is ever to be 500, and /health is to answer within a second.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx

TEXT = (
    "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. Its lamp burns "
    "rapeseed oil and is seen from nineteen nautical miles away. The tower is thirty-one metres "
    "tall and stands on black basalt."
)
QUESTION = "Who built the lighthouse at Bavoke?"
HEALTH_WITHIN_S = 1.0
HEALTH_EVERY_S = 0.1
HEALTH_TIMEOUT_S = 10
HALF_SENT = 1_500
HUGE_BYTES = 300 * 2**20
PIECE_BYTES = 2**20
# Of the process, where nothing is held: what the interpreter and the models let go later.
MEMORY_MARGIN_BYTES = 64 * 2**20
STREAMS = 200
SETTLING_S = 10
REFUSED = {429, 503}
# Less patient than it is told to be.
REFUSED_PAUSE_S = 0.5


@dataclass
class Target:
    """The service, and its process if that is on this machine."""

    base_url: str
    seconds: float
    process: Path | None

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.base_url).port or 80

    def memory_bytes(self) -> int:
        """Return what it holds, and forget what it held most."""
        if self.process:
            (self.process / "clear_refs").write_text("5")
        return self._status("VmRSS") * 1024

    def most_memory_bytes(self) -> int:
        return self._status("VmHWM") * 1024

    def thread_count(self) -> int:
        return self._status("Threads")

    def file_count(self) -> int:
        return len(list((self.process / "fd").iterdir())) if self.process else 0

    def _status(self, name: str) -> int:
        if self.process is None:
            return 0
        lines = (self.process / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


@dataclass
class Health:
    """How long /health took beside an attack; a failure counts as for ever."""

    times_s: list[float] = field(default_factory=list)

    @property
    def is_held(self) -> bool:
        return bool(self.times_s) and max(self.times_s) < HEALTH_WITHIN_S

    def __str__(self) -> str:
        median, worst = statistics.median(self.times_s), max(self.times_s)
        return f"/health p50 {median * 1000:.0f} ms, worst {worst * 1000:.0f} ms"


@asynccontextmanager
async def watched(target: Target) -> AsyncIterator[Health]:
    """Ask /health again and again while something is done, from a process of its own."""
    health = Health()
    is_over = multiprocessing.Event()
    times: Queue[list[float]] = multiprocessing.Queue()
    watching = multiprocessing.Process(
        target=watch_health, args=(target.host, target.port, is_over, times)
    )
    watching.start()
    try:
        yield health
    finally:
        is_over.set()
        health.times_s += await asyncio.to_thread(times.get)
        watching.join()


def watch_health(host: str, port: int, is_over: Event, times: "Queue[list[float]]") -> None:
    found = []
    while not is_over.wait(HEALTH_EVERY_S):
        found.append(time_health(host, port))
    times.put([*found, time_health(host, port)])


def time_health(host: str, port: int) -> float:
    started = time.perf_counter()
    connection = HTTPConnection(host, port, timeout=HEALTH_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        is_well = connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return float("inf")
    finally:
        connection.close()
    return time.perf_counter() - started if is_well else float("inf")


def report(name: str, *, held: bool, found: str) -> bool:
    print(f"{'held  ' if held else 'FAILED'}  {name:34} {found}", flush=True)
    return held


def head(path: str, **headers: object) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


async def attack_half_sent(target: Target) -> bool:
    """Begin 1,500 bodies and send no more of them."""
    writers = []
    async with watched(target) as health:
        for _ in range(HALF_SENT):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(target.host, target.port)
                writer.write(head("/answer", Content_Length=100) + b'{"q":')
                writers.append(writer)
        await asyncio.sleep(target.seconds)
    for writer in writers:
        writer.close()
    found = f"{len(writers)} held open; {health}"
    return report("half-sent bodies", held=health.is_held, found=found)


async def attack_chunked(target: Target) -> bool:
    """Send 300 MB in chunks, which nothing declares, to a path that reads no body."""
    held = True
    for path in ("/health", "/ingest"):
        before = target.memory_bytes()
        async with watched(target) as health:
            status, sent = await send_chunked(target, path)
        grown = target.most_memory_bytes() - before
        found = f"{status} after {sent / 2**20:.0f} MB, memory {grown / 2**20:+.0f} MB; {health}"
        is_held = status == "413" and grown < MEMORY_MARGIN_BYTES and health.is_held
        held = report(f"300 MB in chunks to {path}", held=is_held, found=found) and held
    return held


async def send_chunked(target: Target, path: str) -> tuple[str, int]:
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
    return (answer.split(b" ")[1].decode() if b" " in answer else "no answer"), sent


async def attack_clients(target: Target, *, clients: int) -> bool:
    """Have so many clients ask one question after the other."""
    until = time.perf_counter() + target.seconds
    taken: dict[int, list[float]] = {}
    lost: Counter[str] = Counter()

    async def ask() -> None:
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
            taken.setdefault(status, []).append(time.perf_counter() - started)
            if status in REFUSED:
                await asyncio.sleep(REFUSED_PAUSE_S)

    async with watched(target) as health:
        await asyncio.gather(*(ask() for _ in range(clients)))
    parts = [describe(status, times) for status, times in sorted(taken.items())]
    parts += [f"{name}: {count}" for name, count in lost.items()]
    is_held = set(taken) <= {200, *REFUSED} and not lost and health.is_held
    return report(f"{clients} clients", held=is_held, found="; ".join([*parts, str(health)]))


async def ask_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """Ask the question over a connection that stays open; return the status of its answer."""
    writer.write(f"GET /answer?q={quote(QUESTION)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    try:
        told = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in told.lower().split(b"\r\n") if line.startswith(b"content-len")]
        await reader.readexactly(int(lengths[0].split(b":")[1]))
    except asyncio.IncompleteReadError as error:
        raise ConnectionError from error
    return int(told.split(b" ")[1])


def describe(status: int, times_s: list[float]) -> str:
    median, worst = statistics.median(times_s) * 1000, max(times_s) * 1000
    return f"{status}: {len(times_s)}, p50 {median:.0f} ms, worst {worst:.0f} ms"


async def attack_vanishing(target: Target) -> bool:
    """Open 200 streams and leave each as it begins."""
    await asyncio.sleep(1)
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
    found = f"files {more_files:+d}, threads {more_threads:+d}; {health}"
    # Threads of the pools stay, and a few connections of the database.
    is_held = more_files < STREAMS / 4 and more_threads < STREAMS / 4 and health.is_held
    return report("streams that vanish", held=is_held, found=found)


async def attack_unread(target: Target) -> bool:
    """Ask for pages and read nothing of them."""
    writers = []
    async with watched(target) as health:
        for _ in range(STREAMS):
            _, writer = await asyncio.open_connection(target.host, target.port)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(b"GET /schema HTTP/1.1\r\nHost: localhost\r\n\r\n")
            writers.append(writer)
        await asyncio.sleep(target.seconds)
    for writer in writers:
        writer.transport.abort()
    return report("answers that nobody reads", held=health.is_held, found=str(health))


Attack = Callable[[Target], Awaitable[bool]]
ATTACKS: dict[str, Attack] = {
    "half": attack_half_sent,
    "chunked": attack_chunked,
    "clients-64": lambda target: attack_clients(target, clients=64),
    "clients-500": lambda target: attack_clients(target, clients=500),
    "vanishing": attack_vanishing,
    "unread": attack_unread,
}


def find_process(port: int) -> Path | None:
    """Return the folder in /proc of the process that serves this port with the most memory."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (folder / "cmdline").read_bytes().split(b"\0")
            if b"granian" in b" ".join(line) or b"multiprocessing" in b" ".join(line):
                own = (folder / "environ").read_bytes().split(b"\0")
                if b"APP_PORT=%d" % port in own or str(port).encode() in line:
                    pages = int((folder / "statm").read_text().split()[1])
                    found.append((pages, folder))
    return max(found)[1] if found else None


async def attack(target: Target, names: list[str]) -> bool:
    async with httpx.AsyncClient(base_url=target.base_url, timeout=120) as client:
        posted = await client.post("/ingest", json={"text": TEXT, "source_uri": "note:overload"})
        if posted.status_code not in {200, 201, 409}:
            raise SystemExit(posted.text)
        await client.get("/answer", params={"q": QUESTION})
    results = [await ATTACKS[name](target) for name in names]
    return all(results)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base_url")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--seconds", type=float, default=15)
    chosen = parser.parse_args()
    served = Target(chosen.base_url, chosen.seconds, None)
    served.process = find_process(served.port)
    sys.exit(not asyncio.run(attack(served, chosen.only)))
