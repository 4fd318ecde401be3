"""Measure the cost of serving and ingesting: ``python benchmarks/serving.py FOLDER``.

FOLDER is a data set of ``manage.py evaluate``; it is taken in at first, into PKB_DATA_DIR. Then, in
turns within this run, so that what else the machine does is in both sides of a ratio:

- POST /search and GET /answer of a server that this starts, no answer kept: requests a second by
  1, 4 and 16 clients, and the ratio to one client of the same round; beside it the greatest ratio
  that the cores allow: one client keeps some of them busy, counted in CPU-seconds of the server,
  of Postgres and of the client itself, and no more than all can be. Where others compute, too, the
  client waits for cores that look idle, and this comes out too great;
- texts embedded a CPU-second by POST /ingest, Postgres counted, and by the bare embedder;
- start to /ready, the first of the round with the models read anew from the disk, and memory.

Change no file of the product while it runs: each start imports it.

A ratio is the median of the rounds, with the least and the greatest. It reads /proc: Linux only.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from corpus.catalogue import create_collection, delete_collection  # noqa: E402
from corpus.cores import usable_core_count  # noqa: E402
from corpus.embedders import get_embedder  # noqa: E402
from evaluation.datasets import read_dataset  # noqa: E402
from evaluation.index import index_dataset  # noqa: E402

CLIENTS = (1, 4, 16)
READY_WITHIN_S = 300
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Texts ingested by each turn: a few seconds of work.
DOCUMENTS = 30
SCRATCH = "serving_benchmark"

Ask = Callable[[str], None]


def main() -> None:
    options = _parse_options()
    call_command("migrate", verbosity=0)
    dataset = read_dataset(options.folder)
    name = index_dataset(dataset, fresh=False, progress=lambda done, total: None).collection.name
    questions = [question.text for question in dataset.questions]
    texts = [document.text for document in dataset.documents if document.text]
    print("| what | figure | ratio, median (least to greatest) |\n|---|---|---|")
    show_ingest(texts, rounds=options.rounds)
    show_starts(options.rounds)
    with served() as (address, process):
        for kind, ask in _kinds(address, name).items():
            asking = _Asking(ask, questions, server=process.pid, seconds=options.seconds)
            show_throughput(kind, asking, rounds=options.rounds)
        print(f"| server with its models, RSS | {_memory_mb(process.pid):.0f} MB | |")


class Turn(NamedTuple):
    """Throughput of clients in requests a second, and CPU-seconds of each process."""

    rate: float
    cpu_s: float

    @property
    def busy_cores(self) -> float:
        return self.rate * self.cpu_s


def show_throughput(kind: str, asking: "_Asking", *, rounds: int) -> None:
    turns: dict[int, list[Turn]] = {clients: [] for clients in CLIENTS}
    asking.take_turn(CLIENTS[-1])  # keeps token vectors
    for _ in range(rounds):
        for clients, taken in turns.items():
            taken.append(asking.take_turn(clients))
    alone = turns[1]
    for clients, taken in turns.items():
        label = f"{kind}, {clients} client{'s' if clients > 1 else ''}"
        cpu_ms = median(turn.cpu_s for turn in taken) * 1000
        figure = f"{median(turn.rate for turn in taken):.1f} a second, {cpu_ms:.0f} CPU ms each"
        show(label, figure, _ratios([turn.rate for turn in taken], [turn.rate for turn in alone]))
    bounds = [usable_core_count() / turn.busy_cores for turn in alone]
    busy = f"one client keeps {median(turn.busy_cores for turn in alone):.2f} busy"
    show(f"{kind}, the most that {usable_core_count()} cores allow", busy, bounds)


class _Asking:
    """Sends one kind of request to a server, with one question after another."""

    def __init__(self, ask: Ask, questions: Sequence[str], *, server: int, seconds: float) -> None:
        self._ask = ask
        self._questions = questions
        self._server = server
        self._seconds = seconds
        self._asked = count()

    def take_turn(self, clients: int) -> Turn:
        """Send requests from several clients for a while."""
        before = self._cpu_by_process()
        started = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            asking = [pool.submit(self._ask_until, started + self._seconds) for _ in range(clients)]
            done = sum(each.result() for each in asking)
        elapsed_s = time.perf_counter() - started
        spent_s = sum(
            spent - before.get(process, 0.0) for process, spent in self._cpu_by_process().items()
        )
        return Turn(rate=done / elapsed_s, cpu_s=spent_s / done)

    def _ask_until(self, end: float) -> int:
        done = 0
        while time.perf_counter() < end:
            self._ask(self._questions[next(self._asked) % len(self._questions)])
            done += 1
        return done

    def _cpu_by_process(self) -> dict[int, float]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pid FROM pg_stat_activity")
            backends = [pid for (pid,) in cursor.fetchall()]
        return {pid: _cpu_s(pid) for pid in [os.getpid(), *_family(self._server), *backends]}


def _kinds(address: str, name: str) -> dict[str, Ask]:
    def search(text: str) -> None:
        body = json.dumps({"query": text, "collection": name}).encode()
        _read(urllib.request.Request(f"{address}/search", body, _JSON))  # noqa: S310

    def answer(text: str) -> None:
        given = urlencode({"q": text, "collection": name})
        _read(urllib.request.Request(f"{address}/answer?{given}"))  # noqa: S310

    return {"POST /search": search, "GET /answer": answer}


_JSON = {"Content-Type": "application/json"}


def _read(request: urllib.request.Request) -> None:
    with urllib.request.urlopen(request, timeout=120) as reply:  # noqa: S310
        reply.read()


def show_ingest(texts: Sequence[str], *, rounds: int) -> None:
    """Compare ingesting texts with embedding the same chunks."""
    embedder = get_embedder(settings.PKB_EMBEDDING_MODEL)
    embedder.load()
    found: dict[str, list[float]] = {"by POST /ingest": [], "by the bare embedder": []}
    for number in range(rounds):
        chosen = [texts[(number * DOCUMENTS + i) % len(texts)] for i in range(DOCUMENTS)]
        chunks, spent_s = _ingest(chosen)
        found["by POST /ingest"].append(len(chunks) / spent_s)
        started = time.process_time()
        embedder.embed_passages(chunks)
        spent_s = time.process_time() - started
        found["by the bare embedder"].append(len(chunks) / spent_s)
    bare = found["by the bare embedder"]
    for how, rates in found.items():
        show(f"chunks embedded {how}", f"{median(rates):.1f} a CPU-second", _ratios(rates, bare))


def _ingest(texts: Sequence[str]) -> tuple[list[str], float]:
    """Return the embedded texts, and the CPU-seconds."""
    collection = create_collection(SCRATCH)
    api = APIClient(SERVER_NAME="localhost")
    api.get("/health")  # opens the connection
    backend = connection.connection.info.backend_pid
    started = time.process_time() + _cpu_s(backend)
    for text in texts:
        # Each sentence is new: embedded texts are not embedded again.
        new = text.replace(". ", f" {time.time_ns()}. ")
        body = {"text": f"{new} {time.time_ns()}", "collection": SCRATCH}
        reply = api.post("/ingest", body, format="json")
        if reply.status_code != 201:
            raise SystemExit(f"{reply.status_code}: {reply.content[:200]!r}")
    spent_s = time.process_time() + _cpu_s(backend) - started
    chunks = list(collection.chunks.values_list("text", flat=True))
    delete_collection(SCRATCH)
    return chunks, spent_s


def show_starts(rounds: int) -> None:
    starts: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(rounds):
        for path in (settings.DATA_DIR / "models").rglob("*.onnx"):
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for found in starts.values():
            started = time.perf_counter()
            with served():
                found.append(time.perf_counter() - started)
    for how, found in starts.items():
        show(f"start to /ready, {how}", f"{median(found):.1f} s", _ratios(found, starts["warm"]))


@contextmanager
def served() -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Yield the address and process of a ready server."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = str(chosen.getsockname()[1])
    env = {**os.environ, "APP_PORT": port, "PKB_WORKER": "off", "PKB_ANSWER_CACHE": "0"}
    command = [sys.executable, str(ROOT / "manage.py"), "serve"]
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        yield address, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait(address: str) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            return _read(urllib.request.Request(f"{address}/ready"))  # noqa: S310
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the server did not become ready")


def _cpu_s(process: int) -> float:
    """Return the CPU seconds of a local process; 0 for a remote one."""
    path = Path(f"/proc/{process}/stat")
    fields = path.read_text().rpartition(")")[2].split() if path.exists() else ["0"] * 13
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def _memory_mb(process: int) -> float:
    """Return the resident memory of a process and of those it started."""
    return sum(map(_own_memory_mb, _family(process)))


def _own_memory_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _family(process: int) -> Iterator[int]:
    """Yield a process and those it started."""
    yield process
    for each in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        yield from _family(int(each))


def _ratios(figures: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(figures, others, strict=True)]


def show(what: str, figure: str, ratios: Sequence[float]) -> None:
    told = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    print(f"| {what} | {figure} | {told} |", flush=True)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="of each turn of clients")
    return parser.parse_args()


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
