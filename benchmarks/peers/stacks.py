"""The stacks that ``benchmarks/peers.py`` compares: install, start, query, measure."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import httpx
import psutil  # type: ignore[import-untyped]

from corpus.embedders.model_files import packaged_model
from evaluation.datasets import GoldDocument
from pkb.databases import choose_postgres_dir
from pkb.postgres import OWNER
from pkb.postgres.server import EmbeddedPostgres
from qa.readers.quantized_graph import QuantizedGraph
from tests.support.own_service import OwnService

FOLDER = Path(__file__).resolve().parent
# Hits requested from each stack: the depth of the metrics.
HITS = 10
MIB = 2**20


class Fallen(Exception):
    """A peer that cannot be measured, and why."""


@dataclass(frozen=True)
class Peer:
    """A stack, named like its files.

    Attributes:
        python: Python of its environment.
        needs_postgres: Whether it gets a database with pgvector.
        needs_endpoint: Whether it uses the server of vectors and scores.
    """

    name: str
    python: str = "python3.11"
    needs_postgres: bool = False
    needs_endpoint: bool = False

    @property
    def requirements(self) -> Path:
        return FOLDER / f"{self.name}.txt"

    @property
    def label(self) -> str:
        """Return its first requirement."""
        return self.requirements.read_text().split()[0].replace("==", " ")


PEERS = (
    Peer("txtai"),
    Peer("lancedb"),
    Peer("haystack", needs_postgres=True),
    Peer("llama_index", needs_postgres=True),
    # For Python 3.12 and later, where torch has several GB.
    Peer("haiku_rag", python="python3.12", needs_endpoint=True),
)


class Tree:
    """Processes with all their children."""

    def __init__(self, *roots: int) -> None:
        self._roots = [psutil.Process(root) for root in roots if root]

    def processes(self) -> list[psutil.Process]:
        return [each for root in self._roots for each in (root, *root.children(recursive=True))]

    def cpu_s(self) -> float:
        """Return the CPU seconds of the processes and their finished children."""
        try:
            return sum(sum(process.cpu_times()[:4]) for process in self.processes())
        except psutil.NoSuchProcess:  # it ended while they were read: now it counts as its parent's
            return self.cpu_s()

    def memory_mb(self) -> tuple[float, float]:
        """Return RSS, which counts shared pages once per process, and PSS, which does not."""
        found = [process.memory_full_info() for process in self.processes()]
        return sum(each.rss for each in found) / MIB, sum(each.pss for each in found) / MIB


class System(Protocol):
    """A system under test: pkb or a peer."""

    label: str
    tree: Tree

    @property
    def ways(self) -> Sequence[str]:
        """Return its search modes."""

    def begin(self) -> None:
        """Wait until it is ready and its modes are known.

        Raises:
            Fallen: It does not start.
        """

    def load(self, documents: Sequence[GoldDocument]) -> None:
        """Ingest documents.

        Raises:
            Fallen: It failed.
        """

    def ask(self, question: str, *, way: str) -> list[str]:
        """Return distinct document ids, best first."""


class Driven:
    """A driver process, queried with lines of ``benchmarks/peers/driver.py``."""

    def __init__(
        self, label: str, process: "subprocess.Popen[str]", errors: IO[str], *others: int
    ) -> None:
        self.label, self._process, self._errors = label, process, errors
        self.ways: list[str] = []
        self.tree = Tree(process.pid, *others)

    def begin(self) -> None:
        self.ways = self._read()["ways"]

    def load(self, documents: Sequence[GoldDocument]) -> None:
        self._say(load=[[each.id, f"{each.title}\n{each.text}".strip()] for each in documents])

    def ask(self, question: str, *, way: str) -> list[str]:
        return list(self._say(ask=question, way=way)["ids"])

    def _say(self, **said: Any) -> dict[str, Any]:
        if self._process.stdin:
            self._process.stdin.write(json.dumps(said) + "\n")
            self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._errors.seek(0)
            raise Fallen(last_line(self._errors.read()))
        answer: dict[str, Any] = json.loads(line)
        return answer


class Served:
    """pkb, over HTTP."""

    ways = ("hybrid, reranked", "hybrid")

    def __init__(self, service: OwnService) -> None:
        self.label = "pkb"
        self._http = httpx.Client(base_url=service.url, timeout=600)
        postgres = EmbeddedPostgres(choose_postgres_dir(service.data)).pid
        self.tree = Tree(int(service.process.name), postgres or 0)

    def begin(self) -> None:
        """Let the worker load its models at the first document."""
        self._http.post("/collections", json={"name": "begun"}).raise_for_status()
        body = {"text": "The worker loads what it needs for a document.", "collection": "begun"}
        self._http.post("/ingest", json=body).raise_for_status()
        self._wait_for_worker()

    def load(self, documents: Sequence[GoldDocument]) -> None:
        for each in documents:
            body = {"text": each.text, "title": each.title, "metadata": {"key": each.id}}
            reply = self._http.post("/ingest", json=body)
            # The same text twice, or none.
            if reply.status_code not in {201, 409, 422}:
                raise SystemExit(f"{reply.status_code}: {reply.text[:200]}")
        self._wait_for_worker()

    def _wait_for_worker(self) -> None:
        """Wait until the worker has stored all token vectors."""
        while self._is_busy():
            time.sleep(0.5)

    def _is_busy(self) -> bool:
        state = self._http.get("/status").json()
        return state["queue"]["waiting_count"] or any(each["task"] for each in state["workers"])

    def ask(self, question: str, *, way: str) -> list[str]:
        body = {"query": question, "top_k": HITS, "rerank": way == self.ways[0]}
        reply = self._http.post("/search", json=body).raise_for_status()
        return list(dict.fromkeys(hit["metadata"]["key"] for hit in reply.json()["results"]))


@contextmanager
def driven(
    peer: Peer, *, environments: Path, models: Sequence[Path], threads: int
) -> Iterator[Driven]:
    """Install a peer and start its driver, without waiting for it.

    Args:
        environments: Folder of its environment, created if missing.
        models: Folders of embedder and cross-encoder.
        threads: Threads of its models.

    Raises:
        Fallen: It cannot be installed.
    """
    python = install(peer, environments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pkb-peer-")))
        given: list[str] = []
        others: list[int] = []
        if peer.needs_postgres:
            server = stack.enter_context(own_postgres(folder))
            server.ensure_database(peer.name)
            where = server.address
            url = f"postgresql://{OWNER}@/{peer.name}?host={where['HOST']}&port={where['PORT']}"
            given, others = ["--database", url], [server.pid or 0]
        if peer.needs_endpoint:
            url, pid = stack.enter_context(model_endpoint(models, threads))
            given, others = ["--endpoint", url], [pid]
        command = driver_command(python, peer.name, folder, models)
        here = driver_environment(threads)
        yield stack.enter_context(run_driver(peer.label, [*command, *given], here, *others))


def install(peer: Peer, environments: Path) -> Path:
    """Return the Python of a peer's environment; create it if it is missing."""
    folder = environments / peer.name
    installed, python = folder / "installed.txt", folder / "bin" / "python"
    if installed.is_file() and installed.read_bytes() == peer.requirements.read_bytes():
        return python
    pip = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(peer.requirements)]
    for command in ([peer.python, "-m", "venv", "--clear", str(folder)], pip):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise Fallen(f"needs {peer.python}, which is not installed") from error
        except subprocess.CalledProcessError as error:
            raise Fallen(f"not installed: {last_line(error.stderr)}") from error
    shutil.copy(peer.requirements, installed)
    return python


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:200]


def driver_command(python: Path, name: str, folder: Path, models: Sequence[Path]) -> list[str]:
    model, reranker = map(str, models)
    script = str(FOLDER / f"{name}_driver.py")
    return [str(python), script, "--model", model, "--reranker", reranker, "--folder", str(folder)]


def driver_environment(threads: int) -> dict[str, str]:
    """Return environment variables that disable hubs and set the threads."""
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
    numbers = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    return {**os.environ, **offline, **numbers, "TOKENIZERS_PARALLELISM": "false"}


@contextmanager
def run_driver(
    label: str, command: Sequence[str], environment: dict[str, str], *others: int
) -> Iterator[Driven]:
    pipe = subprocess.PIPE
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=pipe,
            stdout=pipe,
            stderr=errors,
            text=True,
            start_new_session=True,  # which Linux gives the same share of the cores each
        )
        try:
            yield Driven(label, process, errors, *others)
        finally:
            process.kill()
            process.wait()


@contextmanager
def model_endpoint(models: Sequence[Path], threads: int) -> Iterator[tuple[str, int]]:
    """Yield the address and process of a server that runs the models."""
    command = [sys.executable, str(FOLDER / "endpoint.py"), *map(str, models)]
    environment = driver_environment(threads)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip() if process.stdout else "", process.pid
        finally:
            process.kill()


@contextmanager
def own_postgres(folder: Path) -> Iterator[EmbeddedPostgres]:
    where = choose_postgres_dir(folder)
    server = EmbeddedPostgres(where)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(where, ignore_errors=True)


def write_cross_encoder(folder: Path) -> Path:
    """Write the packaged cross-encoder for torch, converted from int8 to floats."""
    import torch  # noqa: PLC0415  (only here)
    from transformers import BertConfig, BertForSequenceClassification  # noqa: PLC0415

    source = packaged_model("ms-marco-MiniLM-L-12-v2")
    weights = QuantizedGraph(source / "model.onnx").weights()
    vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=4 * width, num_labels=1
    )
    network = BertForSequenceClassification(config)
    network.load_state_dict({key: torch.tensor(value) for key, value in weights.items()})
    network.save_pretrained(folder)
    for path in (*source.glob("*token*.json"), source / "vocab.txt"):
        shutil.copy(path, folder)
    return folder
