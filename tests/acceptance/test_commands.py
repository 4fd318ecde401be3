"""The commands as people type them."""

import ctypes
import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import BaseCommand, call_command

from corpus.errors import BackendUnavailable, EmptyDocument
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.management.commands._report import Report
from corpus.models import Chunk, Collection, Document, Job, JobItem
from tests.support.commands import refusal, run
from tests.support.documents import (
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    Ingest,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.txt").write_text("The bakery opens at five in the morning.")
    (tmp_path / ".hidden.md").write_text("Hidden text that nobody asked to be taken in.")
    return tmp_path


def test_a_folder_is_taken_in(folder: Path) -> None:
    out, _, code = run("ingest", folder, "--tag", "Coast")
    assert code == 0
    assert out == "2 files: 2 added, 0 replaced, 0 unchanged, 0 failed\n"
    assert {document.file_path for document in Document.objects.all()} == {
        str(folder / "a.md"),
        str(folder / "deep" / "b.txt"),
    }
    assert Document.objects.filter(tags__name="coast").count() == 2


def test_a_second_run_finds_nothing_new(folder: Path) -> None:
    run("ingest", folder)
    (folder / "a.md").write_text("# Bavoke\n\nIt is another text now, and a longer one.\n")
    out, _, code = run("ingest", folder)
    assert code == 0
    assert out == "2 files: 0 added, 1 replaced, 1 unchanged, 0 failed\n"
    assert Document.objects.count() == 2


def test_a_failed_file_is_named_and_stops_no_other(folder: Path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    out, err, code = run("ingest", folder)
    assert code == 1
    assert "2 added" in out
    assert "1 refused, 0 failed" in out
    assert "refused: " in err
    assert "bad.pdf" in err


def test_refused_files_may_be_allowed(folder: Path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    assert run("ingest", folder, "--allow-refused")[2] == 0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (EmptyDocument("The file is empty."), Outcome.REFUSED),
        (BackendUnavailable("The model is gone."), Outcome.FAILED),
        (PermissionError(13, "Permission denied"), Outcome.FAILED),
    ],
)
def test_only_what_is_at_fault_itself_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, outcome: Outcome
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("corpus.ingestion.folder_mirror.FolderMirror.sync", refuse)
    out, _, code = run("ingest", folder / "a.md", "--allow-refused", "--json")
    assert json.loads(out)["outcome"] == outcome
    assert code == (outcome == Outcome.FAILED)


@pytest.fixture
def pictures(folder: Path) -> Path:
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "readme.md").write_text("A readme of something installed.")
    for name in ("1.png", "2.PNG", "logo.svg", "Makefile"):
        (folder / name).write_text("<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    return folder


SKIPPED = {"png": 2, "svg": 1, "Makefile": 1, "node_modules/": 1}


def test_skipped_files_are_told_by_kind(pictures: Path) -> None:
    out, _, code = run("ingest", pictures)
    assert (code, Document.objects.count()) == (0, 2)
    line, told = out.strip().split("; ")
    assert line == "2 files: 2 added, 0 replaced, 0 unchanged, 0 failed"
    assert told.startswith("5 skipped (png 2, ")
    assert all(f"{kind} {count}" in told for kind, count in SKIPPED.items())
    assert Job.objects.get().skipped == SKIPPED
    out, err, _ = run("ingest", pictures, "--dry-run")
    assert (len(out.splitlines()), err.startswith("5 skipped")) == (2, True)


def test_json_tells_what_was_skipped(pictures: Path) -> None:
    last = json.loads(run("ingest", pictures, "--json")[0].splitlines()[-1])
    assert last == {"path": None, "outcome": "skipped", "kinds": SKIPPED}


def test_patterns_choose_the_files(pictures: Path) -> None:
    out, _, _ = run("ingest", pictures, "--dry-run", "--include", "*.txt", "--include", "*.svg")
    assert out.splitlines() == [str(pictures / "logo.svg"), str(pictures / "deep" / "b.txt")]
    run("ingest", pictures, "--exclude", "deep")
    assert [document.file_path for document in Document.objects.all()] == [str(pictures / "a.md")]


def test_a_sync_is_foretold_file_by_file(folder: Path) -> None:
    run("ingest", folder, "--sync")
    (folder / "a.md").rename(folder / "c.md")
    (folder / "deep" / "b.txt").unlink()
    out, _, code = run("ingest", folder, "--sync", "--dry-run")
    assert code == 0
    assert out.splitlines() == [
        f"renamed   {folder / 'c.md'}",
        f"removed   {folder / 'deep' / 'b.txt'}",
        "2 files would be: 1 removed, 1 renamed",
    ]
    lines = run("ingest", folder, "--sync", "--dry-run", "--json")[0].splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["renamed", "removed"]
    assert {document.file_path for document in Document.objects.all()} == {
        str(folder / "a.md"),
        str(folder / "deep" / "b.txt"),
    }


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_names_the_file_at_work_and_moves_by_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tiny.txt").write_text("A text of one line, which is soon done.")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    report = Report(BaseCommand(stdout=StringIO()), as_json=False, is_sync=False)
    paths = [str(folder / "a.md"), str(folder / "tiny.txt")]
    report.expect(paths, file_count=3)
    report.at_work(JobItem(path=paths[1]))
    report.add(paths[1], ItemResult(Outcome.ADDED))
    report.finish(is_stopped=False)
    shown = terminal.getvalue()
    assert "tiny.txt" in shown
    assert "1 of 3 files" in shown
    share = 100 * (folder / "tiny.txt").stat().st_size / sum(Path(p).stat().st_size for p in paths)
    assert f" {share:.0f}%" in shown


def test_processes_name_the_file_at_work(collection: Collection) -> None:
    job = Job.objects.create(kind=Job.Kind.SYNC, collection=collection, total=2)
    for name in ("/waiting", "/begun"):
        JobItem.objects.create(job=job, key=name, path=name)
    job.items.filter(path="/begun").update(stage=JobItem.Stage.PARSING)
    assert [item.path for item in job.items.at_work()] == ["/begun"]


def test_json_is_one_line_a_file(folder: Path) -> None:
    out, _, _ = run("ingest", folder, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["outcome"] for line in lines] == ["added", "added"]
    assert all(line["document_id"] for line in lines)


def test_a_dry_run_stores_nothing(folder: Path) -> None:
    out, _, code = run("ingest", folder, "--dry-run")
    assert code == 0
    assert out.splitlines() == [str(folder / "a.md"), str(folder / "deep" / "b.txt")]
    assert not Document.objects.exists()


def test_sync_mirrors_a_folder(folder: Path) -> None:
    run("ingest", folder, "--sync")
    (folder / "a.md").rename(folder / "c.md")
    (folder / "deep" / "b.txt").unlink()
    out, _, code = run("ingest", folder, "--sync")
    assert code == 0
    counts = "0 added, 0 replaced, 0 unchanged, 1 renamed, 1 removed, 0 failed"
    assert out == f"2 files: {counts}; 0 chunks encoded\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["absent.txt"],
        [".", "--collection", "absent"],
        [".", "tests", "--sync"],
        ["manage.py", "--sync"],
        ["-", "--sync"],
        [".", "--workers", "0"],
    ],
)
def test_wrong_usage_exits_2(arguments: list[str]) -> None:
    assert refusal("ingest", *arguments)[1] == 2


def test_standard_input_is_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(LIGHTHOUSE))
    assert run("ingest", "-")[2] == 0
    assert Document.objects.get().content.text == LIGHTHOUSE


def test_verify_finds_what_was_altered(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    assert run("verify") == ("0 violations\n", "", 0)
    Chunk.objects.update(text="Altered.")
    out, _, code = run("verify")
    assert code == 1
    assert "a chunk is not the span it names" in out


def test_the_first_run_says_what_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, ...]] = []
    place = "pkb.management.commands.first_run.call_command"
    monkeypatch.setattr(place, lambda *arguments, **_: begun.append(arguments))
    out, _, _ = run("first_run", "--question", LIGHTHOUSE_QUESTION)
    assert out.strip() == f"Question: {LIGHTHOUSE_QUESTION}"
    assert begun[-1] == ("ask", LIGHTHOUSE_QUESTION)


def test_deleted_samples_do_not_come_back(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    def call(name: str, *arguments: str, **options: Any) -> None:
        if name not in {"migrate", "ask"}:
            call_command(name, *arguments, **options)

    place = "pkb.management.commands.first_run"
    monkeypatch.setattr(f"{place}.call_command", call)
    monkeypatch.setattr(f"{place}.SAMPLES", folder)
    assert "Question" in run("first_run")[0]
    assert Document.objects.count() == 2
    Document.objects.filter(file_path__endswith="a.md").delete()
    assert "Question" in run("first_run")[0]
    Document.objects.all().delete()
    assert "Question" not in run("first_run")[0]
    assert not Document.objects.exists()
    run("first_run", "--documents", folder)
    assert Document.objects.count() == 2


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> list[dict[str, str]]:
    """The environments of the servers that are begun."""
    settings.PKB_WORKER = "off"
    settings.PKB_SERVED_AT = tmp_path / "served-at"
    begun: list[dict[str, str]] = []
    monkeypatch.setattr("os.execve", lambda *arguments: begun.append(arguments[-1]))
    return begun


def test_serve_says_what_to_open_and_tells_what_it_starts(
    begun: list[dict[str, str]], settings: Any
) -> None:
    assert "Open http://127.0.0.1:8123 (" in run("serve", "--port", "8123")[0]
    assert (begun[0]["APP_HOST"], begun[0]["APP_PORT"]) == ("127.0.0.1", "8123")
    assert settings.PKB_SERVED_AT.read_text() == "127.0.0.1 8123\n"


# Eight threads at once, each of which has asked malloc for something.
COUNT_ARENAS = """
import ctypes, threading
libc, met = ctypes.CDLL(None), threading.Barrier(8)
def ask():
    ctypes.create_string_buffer(100_000)
    met.wait()
threads = [threading.Thread(target=ask) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
libc.fdopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fdopen(1, b"w")))
libc.fflush(None)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="needs glibc")
def test_threads_of_the_server_share_two_arenas(begun: list[dict[str, str]]) -> None:
    run("serve", "--port", "8123")
    command = [sys.executable, "-I", "-S", "-c", COUNT_ARENAS]
    told = subprocess.run(command, env=begun[0], check=True, capture_output=True, text=True)
    assert told.stdout.count("<heap") == 2


def test_how_memory_is_allocated_can_be_set(
    begun: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "7")
    run("serve", "--port", "8123")
    assert begun[0]["MALLOC_ARENA_MAX"] == "7"
