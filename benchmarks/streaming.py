"""Stream to many clients at once, and time /health meanwhile.

Start a server first (``manage.py serve``), then:

    python benchmarks/streaming.py http://127.0.0.1:8000 --clients 100 --door chat
"""

import argparse
import asyncio
import multiprocessing
import statistics
import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event

import httpx

TEXT = (
    "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. Its lamp burns "
    "rapeseed oil and is seen from nineteen nautical miles away. The tower is thirty-one metres "
    "tall and stands on black basalt."
)
QUESTION = "Who built the lighthouse at Bavoke?"
# Path, question and final line of each streaming endpoint.
DOORS: dict[str, tuple[str, dict[str, object], str]] = {
    "chat": ("/chat", {"question": QUESTION}, "event: done"),
    "ask": ("/ask", {"question": QUESTION, "stream": True}, "event: done"),
    "completions": (
        "/v1/chat/completions",
        {
            "model": "pkb/default",
            "stream": True,
            "messages": [{"role": "user", "content": QUESTION}],
        },
        "data: [DONE]",
    ),
}
# First without clients: the cost of /health alone.
ALONE_COUNT = 50
HEALTH_EVERY_S = 0.05


async def read_stream(client: httpx.AsyncClient, door: str) -> tuple[float, float, bool]:
    """Return the seconds to the first event and to the end, and whether it completed."""
    path, body, last = DOORS[door]
    started = time.perf_counter()
    first_s, is_done = 0.0, False
    async with client.stream("POST", path, json=body) as response:
        async for line in response.aiter_lines():
            if line and not first_s:
                first_s = time.perf_counter() - started
            is_done = is_done or line == last
    return first_s, time.perf_counter() - started, is_done


def time_health(client: httpx.Client) -> float:
    started = time.perf_counter()
    client.get("/health").raise_for_status()
    return (time.perf_counter() - started) * 1000


def watch_health(base_url: str, is_over: Event, times: "Queue[list[float]]") -> None:
    """Run in its own process, so that reading the streams does not delay it."""
    found = []
    with httpx.Client(base_url=base_url, timeout=600) as client:
        while not is_over.is_set():
            found.append(time_health(client))
            time.sleep(HEALTH_EVERY_S)
    times.put(found)


def describe(name: str, values: list[float], unit: str) -> None:
    cuts = statistics.quantiles(values, n=100)
    print(f"{name:24} p50 {cuts[49]:8.1f}  p99 {cuts[98]:8.1f}  max {max(values):8.1f} {unit}")


async def measure(base_url: str, clients: int, door: str) -> None:
    limits = httpx.Limits(max_connections=clients + 10)
    async with httpx.AsyncClient(base_url=base_url, timeout=600, limits=limits) as client:
        posted = await client.post("/ingest", json={"text": TEXT, "source_uri": "note:streaming"})
        if posted.status_code not in {200, 201, 409}:
            raise SystemExit(posted.text)
        with httpx.Client(base_url=base_url) as quiet:
            alone = [time_health(quiet) for _ in range(ALONE_COUNT)]
        is_over = multiprocessing.Event()
        times: Queue[list[float]] = multiprocessing.Queue()
        watching = multiprocessing.Process(target=watch_health, args=(base_url, is_over, times))
        watching.start()
        streams = await asyncio.gather(*(read_stream(client, door) for _ in range(clients)))
        is_over.set()
        beside = times.get()
    print(f"{sum(done for *_, done in streams)} of {clients} streams ended as they should")
    describe("/health alone", alone, "ms")
    describe(f"/health beside {clients}", beside, "ms")
    describe("first event", [first for first, *_ in streams], "s")
    describe("end", [end for _, end, _ in streams], "s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--door", choices=DOORS, default="chat")
    chosen = parser.parse_args()
    asyncio.run(measure(chosen.base_url, chosen.clients, chosen.door))
