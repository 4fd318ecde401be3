"""Kill -9 and stop the processes that bring files in: nothing is lost, nothing comes twice."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from corpus.ingestion.folder_mirror import SyncOptions
from corpus.jobs.kinds import sync_job
from corpus.models import Collection
from tests.support.documents import long_text
from tests.support.drawing import examples
from tests.support.processes import (
    connected_to,
    find_broken,
    finish,
    manage,
    name_of,
    read,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]

FILE_COUNT = 40
KILL_COUNT = examples(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(FILE_COUNT):
        text = long_text(5).replace("Entry", f"Note {number}")
        (tmp_path / f"{number:02}.txt").write_text(text)
    return tmp_path


def done(database: str) -> int:
    ((count,),) = read(database, "SELECT count(*) FROM corpus_jobitem WHERE status = 'done'")
    return int(str(count))


def statuses(database: str) -> list[tuple[object, ...]]:
    return read(database, "SELECT status, done, failed FROM corpus_job ORDER BY created_at")


def assert_each_file_is_stored_once(folder: Path, database: str) -> None:
    assert find_broken(database) == []
    rows = read(database, "SELECT file_path, status FROM corpus_document ORDER BY file_path")
    assert rows == [(str(path), "completed") for path in sorted(folder.glob("*.txt"))]


def start_sync(folder: Path, database: str) -> None:
    """Queue a sync, as the API does."""
    with connected_to(name_of(database)):
        sync_job.start_sync(
            Collection.objects.get_named("default"), SyncOptions(paths=(str(folder),), mirror=True)
        )


def end(process: "subprocess.Popen[str]") -> int:
    process.communicate(timeout=60)
    return process.returncode


def test_killed_worker_loses_and_doubles_nothing(folder: Path, database: str) -> None:
    start_sync(folder, database)
    for kill in range(KILL_COUNT):
        worker = manage("worker", database=database)
        before = done(database)
        wait_until(lambda before=before: done(database) > before)  # type: ignore[misc]
        worker.send_signal(signal.SIGKILL)
        end(worker)
        assert find_broken(database) == [], kill
    worker = manage("worker", database=database)
    wait_until(lambda: statuses(database) == [("succeeded", FILE_COUNT, 0)])
    worker.send_signal(signal.SIGTERM)
    assert end(worker) == 0
    assert_each_file_is_stored_once(folder, database)


def test_a_worker_that_is_told_to_stop_ends_its_file_and_another_goes_on(
    folder: Path, database: str
) -> None:
    start_sync(folder, database)
    worker = manage("worker", database=database)
    wait_until(lambda: done(database) > 0)
    worker.send_signal(signal.SIGTERM)
    assert end(worker) == 0
    assert 0 < done(database) < FILE_COUNT
    pending = "SELECT count(*) FROM corpus_document WHERE status = 'processing'"
    assert read(database, pending) == [(0,)]
    assert read(database, "SELECT max(attempts) FROM corpus_jobitem") == [(1,)]
    worker = manage("worker", database=database)
    wait_until(lambda: statuses(database) == [("succeeded", FILE_COUNT, 0)])
    workers = "SELECT w.id = ANY (home_workers) FROM corpus_installation, procrastinate_workers w"
    assert read(database, workers) == [(True,)]
    worker.send_signal(signal.SIGINT)
    assert end(worker) == 0


@pytest.mark.campaign
def test_ctrl_c_stops_the_command_after_its_file_and_says_how_to_go_on(
    folder: Path, database: str
) -> None:
    command = manage("ingest", str(folder), "--sync", "--json", database=database)
    assert command.stdout is not None
    assert json.loads(command.stdout.readline())["outcome"] == "added"
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 130
    assert f"manage.py ingest {folder} --sync --json" in err
    assert find_broken(database) == []
    assert finish("ingest", str(folder), "--sync", database=database)[0] == 0
    assert_each_file_is_stored_once(folder, database)


@pytest.mark.campaign
def test_several_processes_share_the_files_of_one_command(folder: Path, database: str) -> None:
    (folder / "bad.txt").write_bytes(b"")
    code, out, err = finish("ingest", str(folder), "--sync", "--workers", "2", database=database)
    assert (code, f"{FILE_COUNT} added" in out, "1 refused" in out) == (1, True, True)
    assert "bad.txt" in err
    (folder / "bad.txt").unlink()
    runners = read(database, "SELECT count(DISTINCT runner) FROM corpus_jobitem")
    assert runners == [(2,)]
    code, out, _ = finish("ingest", str(folder), "--sync", "--workers", "2", database=database)
    assert (code, f"{FILE_COUNT} unchanged" in out, "0 chunks encoded" in out) == (0, True, True)
    assert_each_file_is_stored_once(folder, database)


@pytest.mark.campaign
def test_the_command_killed_with_its_helpers_is_gone_on_with(folder: Path, database: str) -> None:
    command = manage("ingest", str(folder), "--sync", "--workers", "2", database=database)
    wait_until(lambda: done(database) > 0)
    command.send_signal(signal.SIGKILL)
    end(command)
    code, _, err = finish("ingest", str(folder), "--sync", database=database)
    assert code == 0, err
    assert_each_file_is_stored_once(folder, database)


@pytest.mark.campaign
def test_worker_killed_over_token_vectors_is_followed_by_another(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PKB_TOKEN_VECTORS", "all")
    for path in list(folder.iterdir())[12:]:
        path.unlink()
    assert finish("ingest", str(folder), database=database)[0] == 0
    ((chunk_count,),) = read(database, "SELECT count(*) FROM corpus_chunk")

    def kept() -> int:
        ((count,),) = read(database, "SELECT count(*) FROM corpus_tokenvectors")
        return int(str(count))

    worker = manage("worker", database=database)
    wait_until(lambda: kept() > 0)
    worker.send_signal(signal.SIGKILL)
    end(worker)
    before = kept()
    assert 0 < before < int(str(chunk_count))
    worker = manage("worker", database=database)
    wait_until(lambda: kept() == chunk_count)
    worker.send_signal(signal.SIGTERM)
    assert end(worker) == 0
    assert find_broken(database) == []


def test_a_worker_killed_while_it_watches_is_in_step_after_the_next_start(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PKB_WATCH", str(folder))
    monkeypatch.setenv("PKB_WATCH_QUIET_S", "0.5")

    def mirrored() -> bool:
        rows = read(database, "SELECT file_path FROM corpus_document WHERE status = 'completed'")
        return {path for (path,) in rows} == {str(path) for path in folder.glob("*.txt")}

    worker = manage("worker", database=database)
    wait_until(lambda: done(database) > 0)
    worker.send_signal(signal.SIGKILL)
    end(worker)
    (folder / "00.txt").unlink()
    (folder / "01.txt").rename(folder / "moved.txt")
    (folder / "02.txt").write_text("A text that was changed while nobody watched the folder.")
    worker = manage("worker", database=database)
    wait_until(mirrored)
    (folder / "moved.txt").unlink()
    wait_until(mirrored)
    worker.send_signal(signal.SIGTERM)
    assert end(worker) == 0
    assert_each_file_is_stored_once(folder, database)
