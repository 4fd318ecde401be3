"""Run a long load test: ``python benchmarks/soak.py [--requests 10000] [--seed 1]``.

Starts a service with a data folder of its own, and sends it a mix of requests by some clients at
once: documents stored, replaced and deleted (texts, and files that the parser reads in a child
process), read, searched, asked by /answer, /chat and /mcp, and pages. As many documents come as
go. Before the first, when the models are loaded, and every 500 requests it looks at the processes,
Postgres' too: memory (anonymous, what they share counted once), open descriptors, threads, and
connections to Postgres. Prints each look, all memory of the first and the last one with shared
memory and files, and by how much each figure grows per 1,000 requests once it is warm, with its
95 % interval. Reads /proc: Linux.
"""

import argparse
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import sqrt
from pathlib import Path
from random import Random
from statistics import linear_regression, mean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx2
import psutil  # type: ignore[import-untyped]

from pkb.databases import choose_postgres_dir
from tests.histories.texts import name_of, write_version
from tests.support.own_service import OwnService, own_service

LOOK_EVERY = 500
# Number of documents at a time, and the repeated questions.
DOCUMENTS = 60
QUESTIONS = ("Who keeps the key of the house {}?", "How many rooms does the house {} have?")
REFUSED = {429, 503}
POSTGRES = "postgres"


@dataclass(frozen=True)
class Look:
    """Resources of the service's processes after some requests.

    Attributes:
        memory_mb: Anonymous, of the server, of what it started and of Postgres, by what they are.
        held_mb: All that they hold, with shared memory and their part of mapped files.
    """

    requests: int
    memory_mb: dict[str, float]
    held_mb: dict[str, float]
    descriptors: int
    threads: int
    connections: int

    @property
    def all_memory_mb(self) -> float:
        return sum(self.memory_mb.values())


@dataclass
class Soak:
    """The clients of one service; threads share it."""

    url: str
    random: Random
    versions: "count[int]" = field(default_factory=lambda: count(1))
    document_ids: dict[str, str] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)

    def acts(self) -> dict[Callable[[httpx2.Client], httpx2.Response], int]:
        return {
            self.store: 12,
            self.delete: 6,
            self.read: 30,
            self.search: 16,
            self.answer: 14,
            self.chat: 3,
            self.call_tool: 4,
            self.show_page: 15,
        }

    def act(self, http: httpx2.Client) -> None:
        acts = self.acts()
        (act,) = self.random.choices(list(acts), weights=list(acts.values()))
        reply = act(http)
        while reply.status_code in REFUSED:
            self.told[f"{reply.status_code}, and sent again"] += 1
            time.sleep(float(reply.headers.get("Retry-After", 1)))
            reply = act(http)
        self.told[f"{act.__name__} {reply.status_code}"] += 1

    def store(self, http: httpx2.Client) -> httpx2.Response:
        place, version = self._place(), next(self.versions)
        text = write_version(place, version)
        given = {"source_uri": f"note:{place}", "title": f"House {place}"}
        if version % 3:
            reply = http.post("/ingest", json={**given, "text": text})
        else:
            page = text.replace("## ", "<h2>").replace("\n\n", "</h2><p>")
            file = (f"{place}.html", f"<html><body>{page}</body></html>".encode(), "text/html")
            reply = http.post("/ingest", data=given, files={"file": file})
        if reply.status_code in {200, 201}:
            self.document_ids[place] = reply.json()["document_id"]
        return reply

    def delete(self, http: httpx2.Client) -> httpx2.Response:
        return http.delete(f"/documents/{self._document_id()}")

    def read(self, http: httpx2.Client) -> httpx2.Response:
        document_id = self._document_id()
        paths = ["/documents", f"/documents/{document_id}", f"/documents/{document_id}/chunks",
                 f"/documents/{document_id}/text", "/documents/stats", "/collections", "/tags",
                 "/health", "/ready", "/metrics", "/jobs"]  # fmt: skip
        return http.get(self.random.choice(paths))

    def search(self, http: httpx2.Client) -> httpx2.Response:
        return http.post("/search", json={"query": self._question(), "top_k": 10})

    def answer(self, http: httpx2.Client) -> httpx2.Response:
        return http.get("/answer", params={"q": self._question()})

    def chat(self, http: httpx2.Client) -> httpx2.Response:
        return http.post("/chat", json={"question": self._question()})

    def call_tool(self, http: httpx2.Client) -> httpx2.Response:
        call = {"name": "search", "arguments": {"query": self._question()}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accepted = {"Accept": "application/json, text/event-stream"}
        return http.post("/mcp", json=message, headers=accepted)

    def show_page(self, http: httpx2.Client) -> httpx2.Response:
        pages = ["/ui/ask", "/ui/library", f"/ui/documents/{self._document_id()}", "/ui/jobs",
                 "/ui/quality", f"/ui/search?q={self._place()}"]  # fmt: skip
        return http.get(self.random.choice(pages))

    def _place(self) -> str:
        return name_of(self.random.randrange(DOCUMENTS))

    def _document_id(self) -> str:
        return self.document_ids.get(self._place(), "00000000-0000-4000-8000-000000000000")

    def _question(self) -> str:
        return self.random.choice(QUESTIONS).format(self._place())


def send(soak: Soak, *, requests: int, clients: int) -> None:
    """Send requests from several clients."""
    left = iter(range(requests))
    lock = threading.Lock()

    def work() -> None:
        with httpx2.Client(base_url=soak.url, timeout=120) as http:
            while True:
                with lock:
                    if next(left, None) is None:
                        return
                soak.act(http)

    with ThreadPoolExecutor(clients) as pool:
        for each in [pool.submit(work) for _ in range(clients)]:
            each.result()


def look(service: OwnService, requests: int) -> Look:
    memory: defaultdict[str, float] = defaultdict(float)
    held: defaultdict[str, float] = defaultdict(float)
    descriptors = threads = 0
    server, postgres = psutil.Process(int(service.process.name)), postmaster(service)
    for process in [server, *server.children(recursive=True), postgres, *postgres.children()]:
        try:
            role, found = role_of(process), proportional_kb(process.pid)
            memory[role] += found["Pss_Anon"] / 1024
            held[role] += found["Pss"] / 1024
            if role != POSTGRES:
                descriptors += process.num_fds()
                threads += process.num_threads()
        except (psutil.NoSuchProcess, FileNotFoundError):  # a parser that was done
            continue
    connections = connection_count(service)
    return Look(requests, dict(memory), dict(held), descriptors, threads, connections)


def proportional_kb(process: int) -> dict[str, int]:
    """Return the proportional memory of a process: ``Pss``, and ``Pss_Anon`` without files.

    Files, such as libraries, are shared with whatever else runs on this machine: an idle process
    seems to grow as those end.
    """
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    fields = (line.split() for line in lines if line.startswith("Pss"))
    return {name.rstrip(":"): int(kb) for name, kb, _ in fields}


def memory_of(role: str, found: Look) -> float:
    return found.memory_mb.get(role, 0.0)


def role_of(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    if "granian" in line:
        return "server"
    if "postgres" in line and "manage.py" not in line:
        return POSTGRES
    return "worker" if "worker" in line else "others"


def connection_count(service: OwnService) -> int:
    """Return the clients of the service's Postgres, by process titles."""
    titles = [" ".join(child.cmdline()) for child in postmaster(service).children()]
    return sum("[local]" in title or "(" in title.rpartition(" pkb ")[2] for title in titles)


def postmaster(service: OwnService) -> psutil.Process:
    pid_file = choose_postgres_dir(service.data) / "data" / "postmaster.pid"
    return psutil.Process(int(pid_file.read_text().split()[0]))


def slope(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the least squares line, and half its 95 % interval."""
    line = linear_regression(xs, ys)
    freedom = len(xs) - 2
    errors = [y - line.slope * x - line.intercept for x, y in zip(xs, ys, strict=True)]
    spread = sum((x - mean(xs)) ** 2 for x in xs)
    error = sqrt(sum(each**2 for each in errors) / freedom / spread)
    # Student's t, accurate to .02 from 8 degrees of freedom.
    return line.slope, (1.96 + 2.5 / freedom) * error


def main() -> None:
    options = _parse_options()
    with own_service() as service:
        soak = Soak(service.url, Random(options.seed))  # noqa: S311  (of acts, not of secrets)
        looks = list(_soak(soak, service, options))
    print(f"\nreplies: {dict(sorted(soak.told.items()))}")
    for each in (looks[0], looks[-1]):
        parts = shown(each.held_mb)
        print(f"with shared memory and files, after {each.requests:,}: {parts}")
    warm = [each for each in looks if each.requests >= options.warm]
    print(f"\n| growth per 1,000 requests, from {options.warm:,} on | | 95 % |\n|---|---|---|")
    roles = sorted({role for each in warm for role in each.memory_mb})
    show("memory of all, MB", warm, lambda each: each.all_memory_mb)
    for role in roles:
        show(f"memory of {role}, MB", warm, partial(memory_of, role))
    show("descriptors", warm, lambda each: each.descriptors)
    show("threads", warm, lambda each: each.threads)
    show("connections to Postgres", warm, lambda each: each.connections)


def _soak(soak: Soak, service: OwnService, options: argparse.Namespace) -> Iterator[Look]:
    print("| requests | memory, MB (by process) | descriptors | threads | connections | a second |")
    print("|---|---|---|---|---|---|")
    yield report(look(service, 0), rate=0.0)
    for sent in range(0, options.requests, LOOK_EVERY):
        started = time.perf_counter()
        send(soak, requests=LOOK_EVERY, clients=options.clients)
        rate = LOOK_EVERY / (time.perf_counter() - started)
        yield report(look(service, sent + LOOK_EVERY), rate=rate)


def report(found: Look, *, rate: float) -> Look:
    print(
        f"| {found.requests:,} | {shown(found.memory_mb)} | {found.descriptors} "
        f"| {found.threads} | {found.connections} | {rate:.1f} |",
        flush=True,
    )
    return found


def shown(memory_mb: dict[str, float]) -> str:
    parts = ", ".join(f"{role} {mb:.1f}" for role, mb in sorted(memory_mb.items()))
    return f"{sum(memory_mb.values()):.1f} ({parts})"


def show(what: str, looks: Sequence[Look], figure: Callable[[Look], float]) -> None:
    grown, half = slope([each.requests / 1_000 for each in looks], [figure(each) for each in looks])
    print(f"| {what} | {grown:+.2f} | {grown - half:+.2f} to {grown + half:+.2f} |")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--warm", type=int, default=3_000, help="requests before growth is measured"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
