"""One table of what serving and ingesting cost: ``python benchmarks/serving.py FOLDER``.

FOLDER is a data set of ``manage.py evaluate``; it is taken in at first, into PKB_DATA_DIR. Then, in
turns within this run, so that what else the machine does is in both sides of a ratio:

- POST /search and GET /answer of a server that this starts, no answer kept: requests a second by
  1, 4 and 16 clients, and the ratio to one client of the same round;
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

from corpus.catalogue import create_collection, delete_collection  # noqa: E402
from corpus.embedders import get_embedder  # noqa: E402
from evaluation.datasets import read_dataset  # noqa: E402
from evaluation.index import index_dataset  # noqa: E402

CLIENTS = (1, 4, 16)
READY_WITHIN_S = 300
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Taken in by each turn: a few seconds of work.
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
            show_throughput(kind, ask, questions, rounds=options.rounds, seconds=options.seconds)
        print(f"| server with its models, RSS | {_memory_mb(process.pid):.0f} MB | |")


def show_throughput(
    kind: str, ask: Ask, questions: Sequence[str], *, rounds: int, seconds: float
) -> None:
    asked = count()
    rates: dict[int, list[float]] = {clients: [] for clients in CLIENTS}
    _rate(ask, questions, asked, clients=CLIENTS[-1], seconds=seconds)  # keeps token vectors
    for _ in range(rounds):
        for clients, found in rates.items():
            found.append(_rate(ask, questions, asked, clients=clients, seconds=seconds))
    for clients, found in rates.items():
        label = f"{kind}, {clients} client{'s' if clients > 1 else ''}"
        show(label, f"{median(found):.1f} a second", _ratios(found, rates[1]))


def _rate(
    ask: Ask, questions: Sequence[str], asked: "count[int]", *, clients: int, seconds: float
) -> float:
    """Return the requests a second of so many clients, each of which asks on and on."""
    started = time.perf_counter()

    def work() -> int:
        done = 0
        while time.perf_counter() - started < seconds:
            ask(questions[next(asked) % len(questions)])
            done += 1
        return done

    with ThreadPoolExecutor(clients) as pool:
        done = sum(each.result() for each in [pool.submit(work) for _ in range(clients)])
    return done / (time.perf_counter() - started)


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
    """Compare taking texts in with embedding the very chunks that this stores."""
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
    """Return the texts that were embedded, and the CPU-seconds that it took."""
    collection = create_collection(SCRATCH)
    api = APIClient(SERVER_NAME="localhost")
    api.get("/health")  # opens the connection
    backend = connection.connection.info.backend_pid
    started = time.process_time() + _cpu_s(backend)
    for text in texts:
        # Each sentence is a new one: what was embedded once is not embedded again.
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
    """Yield the address and the process of a server that is ready."""
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
    """Return the seconds that a process of this machine has computed; 0 of another machine's."""
    path = Path(f"/proc/{process}/stat")
    fields = path.read_text().rpartition(")")[2].split() if path.exists() else ["0"] * 13
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def _memory_mb(process: int) -> float:
    """Return the resident memory of a process and of those it started."""
    folder = Path(f"/proc/{process}")
    lines = (folder / "status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    started = (folder / f"task/{process}/children").read_text().split()
    return own / 1024 + sum(_memory_mb(int(each)) for each in started)


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
    main()
