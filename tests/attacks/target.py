"""The service that is attacked: its address, its process, and how fast /health answers beside."""

import asyncio
import contextlib
import multiprocessing
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

HEALTH_EVERY_S = 0.05
HEALTH_TIMEOUT_S = 10


@dataclass
class Target:
    """The service, and what of it is on this machine.

    Attributes:
        seconds: For which an attack of many clients goes on.
        process: The server's folder in /proc, if it is known.
        root: A folder below which it may read files, if there is one.
    """

    base_url: str
    seconds: float
    process: Path | None = None
    root: Path | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.base_url).port or 80

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.base_url, timeout=120)

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
        """Open files and connections, those to the database among them."""
        return len(list((self.process / "fd").iterdir())) if self.process else 0

    def _status(self, name: str) -> int:
        if self.process is None:
            return 0
        lines = (self.process / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


@dataclass
class Outcome:
    """What became of an attack.

    Attributes:
        tried: How often something was tried.
        failures: What did not hold, in words.
        seen: Figures to be told beside.
    """

    tried: int = 0
    failures: list[str] = field(default_factory=list)
    seen: str = ""

    def check(self, holds: bool, otherwise: str) -> None:
        self.tried += 1
        if not holds:
            self.failures.append(otherwise)

    @property
    def held(self) -> int:
        return self.tried - len(self.failures)


@dataclass
class Health:
    """How long /health took beside an attack, in seconds; a failure counts as for ever."""

    times_s: list[float] = field(default_factory=list)

    @property
    def worst_s(self) -> float:
        return max(self.times_s, default=float("inf"))

    def __str__(self) -> str:
        median = statistics.median(self.times_s)
        return f"/health p50 {median * 1000:.0f} ms, worst {self.worst_s * 1000:.0f} ms"


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


def find_process(port: int) -> Path | None:
    """Return the folder in /proc of the process that serves this port with the most memory."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (folder / "cmdline").read_bytes().split(b"\0")
            if b"granian" in b" ".join(line) and str(port).encode() in line:
                pages = int((folder / "statm").read_text().split()[1])
                found.append((pages, folder))
    return max(found)[1] if found else None
