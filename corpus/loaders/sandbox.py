"""Parse a file in a child process with limits, and return the document.

Each calling process keeps up to two workers (see ``sandbox_worker``), started when first needed. A
worker forks for each file: the child has limits, and is killed with its process group after its
time. A worker that does not reply is killed and replaced.
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
from typing import IO, Any, cast

from corpus.cores import usable_core_count
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
from corpus.loaders import registry
from corpus.loaders.blocks import Block, LoadedDocument, OcrBox, Scan
from corpus.loaders.limits import LoaderLimits

logger = logging.getLogger(__name__)

# A reply is its length in this many bytes, and the content; it is read in pieces.
_LENGTH_BYTES = 8
_CHUNK_BYTES = 2**20
# Idle workers that keep their parsers in memory; more files at once start more.
_MAX_IDLE = 2
# Files read at once: one per core, and one that waits for the disk. Others queue.
MAX_AT_WORK = usable_core_count() + 1
# Pages that OCR reads at once: each needs a core and half a gigabyte.
_MAX_SCANNING = 1
# Starting a worker and importing its parsers does not count against the file.
_GRACE_S = 30.0
_ROOT = Path(__file__).resolve().parent.parent.parent
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from corpus.loaders.sandbox_worker import main; main()"
)
# The variables of a worker contain no secret.
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
# onnxruntime, which OCR uses, otherwise sends telemetry.
_ENVIRONMENT = {"ORT_DISABLE_TELEMETRY": "1"}
_ERRORS: dict[str, type[PkbError]] = {
    error.code: error
    for error in (
        BinaryText, EmptyDocument, PageNotFound, TextTooLong, UnreadableFile, UnsupportedMediaType,
    )
}  # fmt: skip


class WorkerLost(Exception):
    """The worker ended or did not reply; the file may be fine."""


class Worker:
    """A worker process and its pipes; used by one thread at a time."""

    def __init__(self) -> None:
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-I", "-c", _BOOT, str(_ROOT), json.dumps(registry.OWN)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=_ENVIRONMENT | inherited,
        )
        self.pid = self._process.pid
        # Both were opened as pipes.
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._replies = cast("IO[bytes]", self._process.stdout)

    def ask(self, request: dict[str, Any], content: bytes, *, within_s: float) -> list[Any]:
        """Send a file and wait for the reply; return its lines.

        Raises:
            WorkerLost: There is no reply.
        """
        deadline = time.monotonic() + within_s
        try:
            self._requests.write(json.dumps(request).encode() + b"\n" + content)
            self._requests.flush()
        except OSError as error:
            raise WorkerLost from error
        length = int.from_bytes(self._receive(_LENGTH_BYTES, deadline), "big")
        return [json.loads(line) for line in self._receive(length, deadline).splitlines()]

    def close(self) -> None:
        """End the process and its children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # bytes that could not be sent
            self._requests.close()
        self._replies.close()
        self._process.wait()

    def _receive(self, count: int, deadline: float) -> bytes:
        source = self._replies.fileno()
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
    """The idle workers of this process; ``max_at_work`` files, or OCR pages, are read at once."""

    def __init__(self, *, max_idle: int = _MAX_IDLE, max_at_work: int = MAX_AT_WORK) -> None:
        self._max_idle = max_idle
        self._max_at_work = max_at_work
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self.at_work = threading.BoundedSemaphore(max_at_work)

    def ask(self, request: dict[str, Any], content: bytes, *, within_s: float) -> list[Any]:
        """Ask an idle worker, or a new one; a worker that fails to reply is closed.

        Raises:
            BackendUnavailable: A new worker does not reply, either.
        """
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            worker = idle or Worker()
            try:
                with contextlib.ExitStack() as on_failure:
                    on_failure.callback(worker.close)
                    reply = worker.ask(request, content, within_s=within_s)
                    on_failure.pop_all()
            except WorkerLost as error:
                if idle is None:
                    message = "The process that reads files does not answer."
                    raise BackendUnavailable(message) from error
                continue
            with self._lock:
                if len(self._idle) < self._max_idle:
                    self._idle.append(worker)
                    return reply
            worker.close()
            return reply

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def forget(self) -> None:
        """Reset after a fork: the workers and held locks belong to the parent."""
        self._idle = []
        self._lock = threading.Lock()
        self.at_work = threading.BoundedSemaphore(self._max_at_work)


_pool = Pool()
# Separate workers that keep the weights in memory.
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
    """Read a file like ``read.read``, in a child process; raises as ``run_in_child``, too."""
    arguments: dict[str, Any] = {"filename": filename}
    if scans is not None:
        arguments["scans"] = list(scans.items())
    fields, *lines = run_in_child(
        "read", content, media_type=media_type, limits=limits, arguments=arguments
    )
    blocks = (
        Block(
            text,
            level,
            words,
            page,
            labels=tuple(labels),
            ocr_boxes=tuple(starmap(OcrBox, ocr_boxes)),
            page_starts=tuple((at, number) for at, number in page_starts),
        )
        for text, level, words, page, labels, ocr_boxes, page_starts in chain.from_iterable(lines)
    )
    fields |= {name: tuple(fields[name]) for name in ("tags", "scans")}
    return LoadedDocument(blocks=tuple(blocks), **fields)


def run_in_child(
    act: str, content: bytes, *, media_type: str, limits: LoaderLimits, arguments: Mapping[str, Any]
) -> list[Any]:
    """Run an action on a file in a child process; return the lines of its result.

    Args:
        act: An action of ``sandbox_worker``.
        arguments: Further arguments of the action; JSON values.

    Raises:
        PkbError: The action raised it.
        UnreadableFile: The parser crashes or exceeds its limits.
        BackendUnavailable: No worker could be started.
    """
    request = {
        "act": act,
        "arguments": dict(arguments),
        "media_type": media_type,
        "limits": asdict(limits),
        "content_bytes": len(content),
    }
    pool = _scanners if act == "read_scan" else _pool
    with pool.at_work:
        reply, *further = pool.ask(request, content, within_s=limits.wall_s + _GRACE_S)
    if "result" in reply:
        return [reply["result"], *further]
    if "error" in reply:
        raise _ERRORS.get(reply["error"], UnreadableFile)(reply["detail"])
    if "traceback" in reply:
        logger.error("The %s loader failed: %s", media_type, reply["traceback"])
    raise UnreadableFile(f"The file could not be read: {reply['failure']}.")
