import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from corpus.errors import BackendUnavailable, EmptyDocument, UnreadableFile
from corpus.loaders import load_file, registry, sandbox
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.limits import LoaderLimits
from tests.support.waiting import wait_until
from tests.unit.loaders.sample_files import Pdf, as_bytes, docx, limits, loaded, paragraph, texts

PAGE = b"<html><body><p>Hello</p></body></html>"
# What a worker is asked before it is sent four bytes of plain text.
TEXT = {
    "act": "read",
    "arguments": {"filename": "a.txt"},
    "media_type": registry.PLAIN,
    "limits": {},
    "content_bytes": 4,
}


def in_child(content: bytes | str, name: str, bounds: LoaderLimits | None = None) -> LoadedDocument:
    media_type = registry.MEDIA_TYPE_OF_EXTENSION[Path(name).suffix[1:]]
    return sandbox.read_in_child(
        as_bytes(content), filename=name, media_type=media_type, limits=bounds or LoaderLimits()
    )


@pytest.fixture
def worker() -> Iterator[sandbox.Worker]:
    worker = sandbox.Worker()
    yield worker
    worker.close()


def children_of(process: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in listed.stdout.split()]


def test_a_document_comes_back_as_it_would_in_this_process() -> None:
    source = "---\ntitle: T\ntags: [a]\nx: {y: [1, null]}\n---\n# H\n\nTéxt 😀"
    assert in_child(source, "a.md") == loaded(source, "a.md")


def test_errors_come_back_as_themselves() -> None:
    with pytest.raises(EmptyDocument, match="no text"):
        in_child(b"<html></html>", "a.html")
    with pytest.raises(UnreadableFile, match="damaged"):
        in_child(b"hello", "a.docx")


def test_the_child_knows_neither_django_nor_the_environment(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "secret")
    probe = (
        "import sys, os; sys.path.insert(0, sys.argv[1]); import corpus.loaders.sandbox_worker;"
        "print(any(n in sys.modules for n in ('django', 'lxml', 'rapidocr', 'cv2', 'PIL')))"
    )
    root = str(Path(sandbox.__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-I", "-c", probe, root], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["False"]
    worker = request.getfixturevalue("worker")
    worker.ask(TEXT, b"text", within_s=30)  # a process that has only begun shows none
    environment = Path(f"/proc/{worker.pid}/environ").read_bytes()
    assert b"secret" not in environment
    assert b"ORT_DISABLE_TELEMETRY=1" in environment


SLOW = "<html><body><p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</p>"


def test_what_takes_too_long_is_killed_and_the_next_file_is_read() -> None:
    began = time.monotonic()
    with pytest.raises(UnreadableFile, match="takes more"):
        in_child(SLOW, "a.html", limits(wall_s=1.0, base_cpu_s=30.0))
    assert time.monotonic() - began < 20
    assert texts(in_child(PAGE, "a.html")) == ["Hello"]


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is one of Linux")
def test_the_kernel_filters_the_calls_of_the_child(worker: sandbox.Worker) -> None:
    html = registry.MEDIA_TYPE_OF_EXTENSION["html"]
    slow = {**TEXT, "media_type": html, "content_bytes": len(SLOW)}
    reading = threading.Thread(
        target=worker.ask, args=(slow, SLOW.encode()), kwargs={"within_s": 60}
    )
    reading.start()

    def filtered() -> bool:
        statuses = [Path(f"/proc/{child}/status") for child in children_of(worker.pid)]
        return any("Seccomp:\t2" in status.read_text() for status in statuses if status.exists())

    wait_until(filtered, what="a child with a filter")
    for child in children_of(worker.pid):  # nobody needs what it reads
        os.kill(child, signal.SIGKILL)
    reading.join()


def test_what_computes_too_long_for_its_size_is_killed() -> None:
    with pytest.raises(UnreadableFile, match="processor time"):
        in_child(SLOW, "a.html", limits(base_cpu_s=1.0, cpu_s_per_mib=0.0))


def test_what_needs_too_much_memory_is_refused() -> None:
    body = paragraph("some words in a row " * 20) * 60_000
    bounds = limits(memory_bytes=100 * 2**20, max_ratio=10_000)
    with pytest.raises(UnreadableFile, match="more than 100 MiB"):
        in_child(docx(body), "a.docx", bounds)
    assert texts(in_child(PAGE, "a.html")) == ["Hello"]


def test_a_worker_that_was_killed_is_replaced() -> None:
    assert texts(in_child(PAGE, "a.html")) == ["Hello"]
    for worker in sandbox._pool._idle:
        os.kill(worker.pid, signal.SIGKILL)
    assert texts(in_child(PAGE, "a.html")) == ["Hello"]


def test_a_worker_is_used_again() -> None:
    in_child(PAGE, "a.html")
    before = {worker.pid for worker in sandbox._pool._idle}
    in_child(PAGE, "a.html")
    assert {worker.pid for worker in sandbox._pool._idle} == before


def test_threads_read_at_the_same_time() -> None:
    found: list[str] = []

    def read(number: int) -> None:
        document = in_child(f"<p>Number {number}</p>", "a.html")
        found.extend(texts(document))

    threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"Number {n}" for n in range(8)]
    assert len(sandbox._pool._idle) <= 2


def test_a_parser_that_fails_is_reported_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crash = {"failure": "KeyError in the parser", "traceback": "Traceback: KeyError: 'x'"}
    monkeypatch.setattr(sandbox.Pool, "ask", lambda *_, **__: [crash])
    with pytest.raises(UnreadableFile, match="KeyError in the parser"):
        in_child(PAGE, "a.html")
    assert "Traceback: KeyError" in caplog.text


def test_an_error_nobody_foresaw_brings_its_traceback(worker: sandbox.Worker) -> None:
    (crash,) = worker.ask({**TEXT, "arguments": {"filename": 7}}, b"text", within_s=30)
    reply, blocks = worker.ask(TEXT, b"text", within_s=30)
    assert crash["failure"] == "TypeError in the parser"
    assert "read.py" in crash["traceback"]
    assert reply["result"]["title"] == "a"
    assert [block[0] for block in blocks] == ["text"]


def test_a_worker_that_ends_before_it_replies_is_lost(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(sandbox, "_BOOT", "import sys; sys.stdin.buffer.readline()")
    with pytest.raises(sandbox.WorkerLost):
        request.getfixturevalue("worker").ask({"filename": "a.txt"}, b"text", within_s=30)


def test_a_worker_that_ended_before_it_was_asked_is_lost(worker: sandbox.Worker) -> None:
    worker._process.kill()
    worker._process.wait()
    with pytest.raises(sandbox.WorkerLost):
        worker.ask({"filename": "a.txt"}, b"text", within_s=30)


def test_nothing_is_left_running_when_a_worker_is_closed() -> None:
    worker = sandbox.Worker()
    worker.ask(TEXT, b"text", within_s=30)
    pid = worker.pid
    worker.close()
    assert pid not in children_of(os.getpid())


def test_large_plain_files_are_read_in_a_child_too(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def spy(content: bytes, *, filename: str, media_type: str, limits: LoaderLimits) -> object:
        calls.append(media_type)
        return LoadedDocument(())

    monkeypatch.setattr("corpus.loaders.read_in_child", spy)
    load_file(b"word " * 40_000, filename="a.txt")
    load_file(b"word", filename="a.txt")
    assert calls == [registry.PLAIN]


def test_pdfs_are_read_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pypdfium2", raising=False)
    loaded(Pdf().line("Text", 700).bytes(), "a.pdf")
    assert "pypdfium2" not in sys.modules


def test_a_worker_that_cannot_be_asked_is_lost(worker: sandbox.Worker) -> None:
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(sandbox.WorkerLost):
        worker.ask({}, b"x" * 2**20, within_s=30)


def test_a_worker_that_says_nothing_is_lost(worker: sandbox.Worker) -> None:
    with pytest.raises(sandbox.WorkerLost):
        worker.ask({"content_bytes": 9}, b"", within_s=0.05)


def test_a_fresh_worker_that_is_lost_is_not_replaced_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fall_silent(*_: object, **__: object) -> None:
        raise sandbox.WorkerLost

    monkeypatch.setattr(sandbox.Worker, "ask", fall_silent)
    monkeypatch.setattr(sandbox, "_pool", sandbox.Pool())
    with pytest.raises(BackendUnavailable, match="does not answer"):
        in_child(PAGE, "a.html")


def test_a_closed_pool_ends_its_workers_and_a_fork_forgets_them() -> None:
    pool, forked = sandbox.Pool(), sandbox.Pool()
    first, second = sandbox.Worker(), sandbox.Worker()
    pool._idle.append(first)
    forked._idle.append(second)
    pool.close()
    assert first.pid not in children_of(os.getpid())
    forked.forget()
    forked.close()
    assert second.pid in children_of(os.getpid())
    second.close()


def test_a_file_waits_while_as_many_as_may_be_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = sandbox.Pool()
    monkeypatch.setattr(sandbox, "_pool", pool)
    has_ended = threading.Event()

    def read() -> None:
        in_child(PAGE, "a.html")
        has_ended.set()

    reading = threading.Thread(target=read)
    with ExitStack() as others:
        for _ in range(sandbox.MAX_AT_WORK):
            others.enter_context(pool.at_work)
        before = len(children_of(os.getpid()))
        reading.start()
        assert not has_ended.wait(0.3)
        assert len(children_of(os.getpid())) == before
    reading.join()
    assert has_ended.is_set()
    pool.close()
