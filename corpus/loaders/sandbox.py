"""
Parse a file in a child process with limits, and bring back the document.

Each calling process keeps up to two workers (see ``worker``), started when first needed. A worker
forks for each file: the child has the limits, and is killed with its whole process group when
its time is up. A worker itself is killed when it does not answer, and replaced.
"""

import atexit
import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain, starmap
from pathlib import Path
from typing import IO, Any

from corpus.errors import (
    BackendUnavailable,
    BinaryText,
    EmptyDocument,
    PageNotFound,
    PkbError,
    TextTooLong,
    UnreadableFile,
    UnsupportedMediaType,
)
from corpus.loaders.base import Block, LoadedDocument, OcrBox, Scan
from corpus.loaders.limits import LoaderLimits

logger = logging.getLogger(__name__)

# A reply is its length, in so many bytes, and then itself; it is read in pieces.
_LENGTH_BYTES = 8
_CHUNK_BYTES = 2**20
# Each keeps the memory of its parsers; more files at once start their own.
_MAX_IDLE = 2
# Files that are read at once: one a core, and one whose pages come from the disk. Others wait.
MAX_AT_WORK = (os.cpu_count() or 1) + 1
# Pages that OCR reads at once: each needs a core, and half a gigabyte.
_MAX_SCANNING = 1
# Starting a worker and importing its parsers, on a busy machine, is not the file's fault.
_GRACE_S = 30.0
_ROOT = Path(__file__).resolve().parent.parent.parent
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from corpus.loaders.worker import main; main()"
)
# No secret is among the variables a worker gets.
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
# OCR runs by onnxruntime, which else tells its maker of each process.
_GIVEN = {"ORT_DISABLE_TELEMETRY": "1"}
_ERRORS: dict[str, type[PkbError]] = {
    error.code: error
    for error in (
        BinaryText, EmptyDocument, PageNotFound, TextTooLong, UnreadableFile, UnsupportedMediaType,
    )
}  # fmt: skip


class WorkerLost(Exception):
    """The worker ended or fell silent; nothing is known about the file."""


class Worker:
    """One worker process and the pipes to it; used by one thread at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-I", "-c", _BOOT, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=_GIVEN | {name: os.environ[name] for name in _INHERITED if name in os.environ},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: dict[str, Any], content: bytes, *, within_s: float) -> list[Any]:
        """Send a file and wait for the reply; returns what its lines say.

        Raises:
            WorkerLost: None came.
        """
        deadline = time.monotonic() + within_s
        try:
            _sink(self._process).write(json.dumps(request).encode() + b"\n" + content)
            _sink(self._process).flush()
        except OSError as error:
            raise WorkerLost from error
        length = int.from_bytes(self._receive(_LENGTH_BYTES, deadline), "big")
        return [json.loads(line) for line in self._receive(length, deadline).splitlines()]

    def close(self) -> None:
        """End the process and every child of it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # bytes that could not be sent
            _sink(self._process).close()
        _source(self._process).close()
        self._process.wait()

    def _receive(self, count: int, deadline: float) -> bytes:
        source = _source(self._process).fileno()
        poll = select.poll()
        poll.register(source, select.POLLIN)
        received = bytearray()
        while len(received) < count:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not poll.poll(left_s * 1000):
                raise WorkerLost
            piece = os.read(source, min(count - len(received), _CHUNK_BYTES))
            if not piece:
                raise WorkerLost
            received += piece
        return bytes(received)


class Pool:
    """The idle workers of this process, and how many may be at work.

    Args:
        max_idle: Workers that are kept.
        max_at_work: Files, or pages for OCR, that are read at once.
    """

    def __init__(self, *, max_idle: int = _MAX_IDLE, max_at_work: int = MAX_AT_WORK) -> None:
        self._max_idle = max_idle
        self._max_at_work = max_at_work
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self.at_work = threading.BoundedSemaphore(max_at_work)

    def take(self) -> tuple[Worker, bool]:
        """A worker, and whether it has just been started."""
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        return Worker(), True

    def give_back(self, worker: Worker) -> None:
        with self._lock:
            if len(self._idle) < self._max_idle:
                self._idle.append(worker)
                return
        worker.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def forget(self) -> None:
        """After a fork: the workers are the parent's, and the locks may be held there."""
        self._idle = []
        self._lock = threading.Lock()
        self.at_work = threading.BoundedSemaphore(self._max_at_work)


_pool = Pool()
# Workers of their own: these hold the weights.
_scanners = Pool(max_idle=_MAX_SCANNING, max_at_work=_MAX_SCANNING)
for _each in (_pool, _scanners):
    atexit.register(_each.close)
    os.register_at_fork(after_in_child=_each.forget)


def read_in_child(
    content: bytes,
    *,
    filename: str,
    media_type: str,
    limits: LoaderLimits,
    scans: Mapping[int, Scan] | None = None,
) -> LoadedDocument:
    """As ``reading.read``, in a child process.

    Raises:
        UnreadableFile: Also where the parser crashes, or needs more time or memory than allowed.
        BackendUnavailable: No worker could be started.
    """
    given: dict[str, Any] = {"filename": filename}
    if scans is not None:
        given["scans"] = list(scans.items())
    fields, *lines = run_in_child(
        "read", content, media_type=media_type, limits=limits, given=given
    )
    return _document(fields, lines)


def run_in_child(
    act: str,
    content: bytes,
    *,
    media_type: str,
    limits: LoaderLimits,
    given: Mapping[str, Any],
) -> list[Any]:
    """Do something with a file in a child process; returns what the act did, line by line.

    Args:
        act: One of ``worker.ACTS``.
        given: What the act takes besides the file; JSON values.

    Raises:
        PkbError: What the act itself raises.
        UnreadableFile: The parser crashes, or needs more time or memory than allowed.
        BackendUnavailable: No worker could be started.
    """
    request = {
        "act": act,
        "given": dict(given),
        "media_type": media_type,
        "limits": asdict(limits),
        "content_bytes": len(content),
    }
    pool = _scanners if act == "read_scan" else _pool
    with pool.at_work:
        reply, *further = _ask(pool, request, content, within_s=limits.wall_s + _GRACE_S)
    if "result" in reply:
        return [reply["result"], *further]
    if "error" in reply:
        raise _ERRORS.get(reply["error"], UnreadableFile)(reply["detail"])
    if "traceback" in reply:
        logger.error("The %s loader failed: %s", media_type, reply["traceback"])
    raise UnreadableFile(f"The file could not be read: {reply['failure']}.")


def _ask(pool: Pool, request: dict[str, Any], content: bytes, *, within_s: float) -> list[Any]:
    """Ask a worker; a fresh one where the first, started earlier, has gone meanwhile."""
    while True:
        worker, is_fresh = pool.take()
        try:
            return _ask_one(pool, worker, request, content, within_s=within_s)
        except WorkerLost as error:
            if is_fresh:
                raise BackendUnavailable("The process that reads files does not answer.") from error


def _ask_one(
    pool: Pool, worker: Worker, request: dict[str, Any], content: bytes, *, within_s: float
) -> list[Any]:
    """Ask a worker, and keep it; one that did not answer to the end is of no more use."""
    answered = False
    try:
        reply = worker.ask(request, content, within_s=within_s)
        answered = True
        return reply
    finally:
        if answered:
            pool.give_back(worker)
        else:
            worker.close()


def _document(fields: dict[str, Any], lines: list[Any]) -> LoadedDocument:
    blocks = tuple(map(_block, chain.from_iterable(lines)))
    lists = {name: tuple(fields[name]) for name in ("tags", "scans")}
    return LoadedDocument(blocks=blocks, **{**fields, **lists})


def _block(told: list[Any]) -> Block:
    text, level, words, page, under, places, page_starts = told
    return Block(
        text,
        level,
        words,
        page,
        under=tuple(under),
        places=tuple(starmap(OcrBox, places)),
        page_starts=tuple((at, number) for at, number in page_starts),
    )


def _sink(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 - opened as a pipe
    return process.stdin


def _source(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None  # noqa: S101 - opened as a pipe
    return process.stdout
