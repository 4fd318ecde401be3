"""A collection mirrors a folder as it changes: real events, real syncs."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Document, Job, WatchedFolder
from corpus.roots.allowed import AllowedPath
from corpus.watched import changes, watcher
from corpus.watched.folders import is_watcher_running, unwatch_folder, watch_folder
from corpus.watched.watcher import watch_in_background
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("cheap_model", "quick"),
]

QUIET_S = 0.25
# Where a test must be quicker than that, on a busy machine too.
LONG_QUIET_S = 0.6


@pytest.fixture
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PKB_WATCH_QUIET_S = QUIET_S
    settings.PKB_TOKEN_VECTORS = "off"
    monkeypatch.setattr(watcher, "TICK_S", 0.05)
    monkeypatch.setattr(watcher, "REST_S", 0.1)
    monkeypatch.setattr(changes, "LOOK_EVERY_S", 0.2)
    monkeypatch.setattr(changes, "_STEP_MS", 20)
    monkeypatch.setattr(changes, "_SILENCE_MS", 50)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def watched(folder: Path, collection: Collection, cheap_model: None) -> WatchedFolder:
    collection.refresh_from_db()
    return watch_folder(AllowedPath(folder, folder), collection=collection)


@pytest.fixture
def watching(watched: WatchedFolder, settings: Any) -> Iterator[None]:
    settings.PKB_INGEST_ROOTS = [Path(watched.path)]
    with watch_in_background():
        wait_until(lambda: work() or Job.objects.exists())
        yield


def work() -> bool:
    """Run the jobs that are queued, as a worker would."""
    for job in Job.objects.unfinished():
        run_job_slice(job.pk)
    return False


def names() -> set[str]:
    work()
    done = Document.objects.filter(status="completed")
    return {Path(path).name for path in done.values_list("file_path", flat=True)}


def old(path: Path, text: str) -> Path:
    """A file that was written long ago."""
    path.write_text(text)
    os.utime(path, (1, 1))
    return path


def test_what_appears_changes_moves_and_goes_is_mirrored(folder: Path, watching: None) -> None:
    (folder / "a.md").write_text(LIGHTHOUSE)
    (folder / ".hidden.md").write_text(BAKERY)
    wait_until(lambda: names() == {"a.md"})
    (folder / "deep").mkdir()
    (folder / "deep" / "b.md").write_text(BAKERY)
    wait_until(lambda: names() == {"a.md", "b.md"})
    kept = Document.objects.get(file_path__endswith="b.md").pk
    (folder / "deep").rename(folder / "deeper")
    (folder / "deeper" / "b.md").rename(folder / "deeper" / "c.md")
    (folder / "a.md").write_text(LIGHTHOUSE.replace("1874", "1875"))
    wait_until(lambda: names() == {"a.md", "c.md"})
    assert Document.objects.get(file_path__endswith="c.md").pk == kept
    wait_until(
        lambda: not work() and "1875" in Document.objects.exclude(pk=kept).get().content.text
    )
    (folder / "deeper" / "c.md").unlink()
    wait_until(lambda: names() == {"a.md"})
    assert list(find_violations()) == []


def test_a_name_that_is_not_utf_8_has_the_folder_polled(
    folder: Path, watching: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "POLL_EVERY_S", 0.2)
    (folder / os.fsdecode(b"caf\xe9")).mkdir()
    wait_until(lambda: WatchedFolder.objects.get().state == WatchedFolder.State.POLLED)
    (folder / "a.md").write_text(LIGHTHOUSE)
    wait_until(lambda: names() == {"a.md"})


def test_a_file_that_is_being_written_waits_and_comes_in_whole(
    folder: Path, watching: None, settings: Any
) -> None:
    settings.PKB_WATCH_QUIET_S = LONG_QUIET_S
    seen: set[str] = set()
    with (folder / "long.txt").open("w") as file:
        for number in range(12):
            file.write(f"Line {number} of a text that somebody writes slowly.\n")
            file.flush()
            work()
            seen |= set(Document.objects.values_list("file_path", flat=True))
            time.sleep(LONG_QUIET_S / 8)
    assert seen == set()
    wait_until(lambda: names() == {"long.txt"})
    assert "Line 11" in Document.objects.get().content.text


def test_a_file_that_is_written_while_another_sync_runs_waits(
    folder: Path, watching: None, settings: Any
) -> None:
    settings.PKB_WATCH_QUIET_S = LONG_QUIET_S
    old(folder / "a.md", LIGHTHOUSE)
    old(folder / "b.md", BAKERY)
    wait_until(lambda: Job.objects.unfinished().exists())
    # Listed as it was, and written when its turn comes.
    turns = iter([False])
    job = Job.objects.unfinished().get()
    assert not run_job_slice(job.pk, is_slice_over=lambda: next(turns, True))
    late = Path(job.items.pending().get().path)
    late.write_text("Half a sen")
    work()
    assert not Document.objects.filter(file_path=str(late)).exists()
    assert job.items.get(path=str(late)).outcome == "waiting"
    late.write_text("Half a sentence became a whole one, and a text.")
    wait_until(lambda: names() == {"a.md", "b.md"})
    assert Document.objects.get(file_path=str(late)).content.text.startswith("Half a sentence")
    assert list(find_violations()) == []


def test_what_changes_while_a_sync_runs_is_taken_in_by_one_after_it(
    folder: Path, watching: None
) -> None:
    old(folder / "a.md", LIGHTHOUSE)
    wait_until(lambda: Job.objects.unfinished().exists())
    job = Job.objects.unfinished().get()
    run_job_slice(job.pk, should_stop=lambda: bool(job.items.count()))  # it is listed
    old(folder / "b.md", BAKERY)
    time.sleep(QUIET_S / 2)
    old(folder / "c.md", f"{BAKERY} And on Sundays, too.")
    time.sleep(QUIET_S * 1.5)
    assert list(Job.objects.unfinished()) == [job]
    wait_until(lambda: names() == {"a.md", "b.md", "c.md"})


@pytest.mark.parametrize("leave", ["unmounted", "gone"])
def test_a_folder_that_is_not_mounted_removes_nothing(
    folder: Path, watching: None, leave: str
) -> None:
    old(folder / "a.md", LIGHTHOUSE)
    wait_until(lambda: names() == {"a.md"})
    kept = Document.objects.get().pk
    away = folder.with_name("away")
    folder.rename(away)
    if leave == "unmounted":
        folder.mkdir()
        wait_until(lambda: not work() and Job.objects.filter(status="failed").exists())
        (error,) = Job.objects.filter(status="failed").latest("created_at").errors
        assert (
            "notes is empty, as a folder is that is not mounted: its documents (1) stay"
            in error["reason"]
        )
        folder.rmdir()
    else:
        wait_until(lambda: WatchedFolder.objects.get().state == "missing")
    assert names() == {"a.md"}
    old(away / "b.md", BAKERY)
    away.rename(folder)
    wait_until(lambda: names() == {"a.md", "b.md"})
    assert Document.objects.get(file_path__endswith="a.md").pk == kept


def test_what_is_not_mounted_in_a_watched_folder_any_more_stays(
    folder: Path, watching: None, client: Client
) -> None:
    old(folder / "a.md", LIGHTHOUSE)
    (folder / "drive").mkdir()
    old(folder / "drive" / "b.md", BAKERY)
    wait_until(lambda: names() == {"a.md", "b.md"})
    # As if a drive had been there, which only root can mount: it leaves an empty folder.
    WatchedFolder.objects.update(mounts=[str(folder / "drive")])
    (folder / "drive" / "b.md").unlink()
    (folder / "a.md").unlink()
    old(folder / "c.md", f"{BAKERY} And on Sundays, too.")
    wait_until(lambda: names() == {"b.md", "c.md"})
    page = client.get("/ui/library").content.decode()
    assert "notes/drive is not mounted; documents kept" in page
    client.post(f"/ui/library/watched/{WatchedFolder.objects.get().pk}/sync")
    wait_until(lambda: names() == {"c.md"})


def test_what_changed_while_nobody_watched_is_found_at_the_start(
    folder: Path, watched: WatchedFolder, settings: Any
) -> None:
    settings.PKB_INGEST_ROOTS = [folder]
    old(folder / "a.md", LIGHTHOUSE)
    assert not is_watcher_running()
    with watch_in_background():
        wait_until(lambda: names() == {"a.md"})
        assert is_watcher_running()
    assert not is_watcher_running()
    (folder / "a.md").unlink()
    old(folder / "b.md", BAKERY)
    with watch_in_background():
        wait_until(lambda: names() == {"b.md"})


def test_one_process_watches_and_a_second_waits(watched: WatchedFolder, folder: Path) -> None:
    with watch_in_background(), watch_in_background():
        wait_until(lambda: WatchedFolder.objects.get().state == "watched")
        threads = [each for each in threading.enumerate() if each.name == f"watch {folder}"]
        assert len(threads) == 1


def test_the_folders_of_the_settings_are_watched_and_others_no_more(
    tmp_path: Path, watched: WatchedFolder, settings: Any
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    settings.PKB_WATCH = [(first, "letters"), (second, "default")]
    with watch_in_background():
        wait_until(lambda: WatchedFolder.objects.filter(state="missing").exists())
        old(first / "a.md", LIGHTHOUSE)
        wait_until(lambda: names() == {"a.md"})
    assert Document.objects.get().collection.name == "letters"
    settings.PKB_WATCH = []
    with watch_in_background():
        wait_until(lambda: list(WatchedFolder.objects.all()) == [watched])
        unwatch_folder(watched.pk)
        wait_until(lambda: not any(t.name.startswith("watch ") for t in threading.enumerate()))
    assert names() == {"a.md"}


def test_a_folder_without_events_is_looked_at(
    folder: Path, watched: WatchedFolder, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.PKB_INGEST_ROOTS = [folder]
    monkeypatch.setattr(changes, "reports_changes", lambda path: False)
    monkeypatch.setattr(changes, "POLL_EVERY_S", 0.1)
    with watch_in_background():
        wait_until(lambda: WatchedFolder.objects.get().state == "polled")
        old(folder / "a.md", LIGHTHOUSE)
        wait_until(lambda: names() == {"a.md"})


def test_links_are_not_watched(folder: Path, tmp_path: Path, watching: None) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    wait_until(lambda: not work() and not Job.objects.unfinished().exists())
    before = Job.objects.latest("created_at")
    (folder / "link").symlink_to(elsewhere)
    old(elsewhere / "a.md", LIGHTHOUSE)
    old(folder / ".b.md", BAKERY)
    time.sleep(QUIET_S * 3)
    assert Job.objects.latest("created_at") == before


def test_syncs_that_changed_nothing_are_not_kept(folder: Path, watching: None) -> None:
    file = old(folder / "a.md", LIGHTHOUSE)
    wait_until(lambda: names() == {"a.md"})
    for moment in (2, 3):
        before = Job.objects.latest("created_at")
        os.utime(file, (moment, moment))
        wait_until(lambda before=before: Job.objects.latest("created_at") != before)  # type: ignore[misc]
        work()
    added, last = Job.objects.order_by("created_at")
    assert [item.outcome for item in added.items.all()] == ["added"]
    assert [item.outcome for item in last.items.all()] == ["unchanged"]


def test_the_connection_is_given_back(watched: WatchedFolder) -> None:
    with watch_in_background():
        wait_until(is_watcher_running)
    assert not execute(
        "SELECT FROM pg_locks JOIN pg_database d ON d.oid = database "
        "WHERE locktype = 'advisory' AND datname = current_database()"
    )
