"""Kill -9 whatever works on documents, and stop it: nothing is lost, nothing comes twice.

``scripts/faults`` kills at more moments, and more kinds of processes.
"""

import json
import signal
import subprocess
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.ingestion.folder_mirror import SyncOptions
from corpus.invariants import find_violations
from corpus.jobs.kinds import sync_job
from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Document, Webhook
from corpus.sites import SiteLimits, add_site, refresh_site
from corpus.webhooks import WebhookEvent, create_webhook
from qa.grids import save_grid
from qa.models import Grid
from tests.support.documents import LIGHTHOUSE, ingest_text_of, long_text
from tests.support.drawing import examples
from tests.support.processes import (
    connected_to,
    database_url,
    find_broken,
    finish,
    manage,
    name_of,
    read,
)
from tests.support.site_server import Handler, page, serving
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]

FILE_COUNT = 30
KILL_COUNT = examples(1)
Process = subprocess.Popen[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(FILE_COUNT):
        text = long_text(8).replace("Entry", f"Note {number}")
        (tmp_path / f"{number:02}.txt").write_text(text)
    return tmp_path


def end(process: Process, how: signal.Signals) -> int:
    process.send_signal(how)
    process.communicate(timeout=60)
    return process.returncode


def number_of(database: str, rows: str) -> int:
    ((count,),) = read(database, f"SELECT count(*) FROM {rows}")  # noqa: S608 -- our own words
    return int(str(count))


def done(database: str) -> int:
    return number_of(database, "corpus_jobitem WHERE status = 'done'")


def wait_for_job(database: str, kind: str, *counts: int) -> None:
    """Wait until the job has succeeded, so many of it done and so many failed."""
    jobs = "SELECT kind, status, done, failed FROM corpus_job"
    wait_until(lambda: read(database, jobs) == [(kind, "succeeded", *counts)])


def assert_each_file_is_stored_once(folder: Path, database: str) -> None:
    assert find_broken(database) == []
    rows = read(database, "SELECT file_path, status FROM corpus_document ORDER BY file_path")
    assert rows == [(str(path), "completed") for path in sorted(folder.glob("*.txt"))]


def test_workers_that_are_stopped_and_killed_are_followed_by_others(
    folder: Path, database: str
) -> None:
    with connected_to(name_of(database)):
        options = SyncOptions(paths=(str(folder),), mirror=True)
        sync_job.start_sync(Collection.objects.get_named("default"), options)
    worker = manage("worker", database=database)
    wait_until(lambda: done(database) > 0)
    assert end(worker, signal.SIGTERM) == 0
    # Who is told to stop ends its file.
    assert 0 < done(database) < FILE_COUNT
    assert number_of(database, "corpus_document WHERE status = 'processing'") == 0
    assert read(database, "SELECT max(attempts) FROM corpus_jobitem") == [(1,)]
    for kill in range(KILL_COUNT):
        worker = manage("worker", database=database)
        before = done(database)
        wait_until(lambda before=before: done(database) > before)  # type: ignore[misc]
        end(worker, signal.SIGKILL)
        assert find_broken(database) == [], kill
    worker = manage("worker", database=database)
    wait_for_job(database, "sync", FILE_COUNT, 0)
    workers = "SELECT w.id = ANY (home_workers) FROM corpus_installation, procrastinate_workers w"
    assert (True,) in read(database, workers)
    assert end(worker, signal.SIGINT) == 0
    assert_each_file_is_stored_once(folder, database)


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
    end(worker, signal.SIGKILL)
    (folder / "00.txt").unlink()
    (folder / "01.txt").rename(folder / "moved.txt")
    (folder / "02.txt").write_text("A text that was changed while nobody watched the folder.")
    worker = manage("worker", database=database)
    wait_until(mirrored)
    (folder / "moved.txt").unlink()
    wait_until(mirrored)
    assert end(worker, signal.SIGTERM) == 0
    assert_each_file_is_stored_once(folder, database)


def test_an_ingest_that_is_killed_leaves_no_half_document(folder: Path, database: str) -> None:
    for _ in range(KILL_COUNT):
        command = manage("ingest", str(folder), "--json", database=database)
        assert command.stdout is not None
        for _ in range(3):  # a line for each file
            command.stdout.readline()
        end(command, signal.SIGKILL)
        assert find_broken(database) == []
    assert finish("ingest", str(folder), database=database)[0] == 0
    assert find_broken(database) == []
    stored = read(database, "SELECT source_uri, status FROM corpus_document")
    assert set(stored) == {(path.as_uri(), "completed") for path in folder.glob("*.txt")}


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
    command = ["ingest", str(folder), "--sync", "--workers", "2"]
    code, out, err = finish(*command, database=database)
    assert (code, f"{FILE_COUNT} added" in out, "1 refused" in out) == (1, True, True)
    assert "bad.txt" in err
    (folder / "bad.txt").unlink()
    runners = read(database, "SELECT count(DISTINCT runner) FROM corpus_jobitem")
    assert runners == [(2,)]
    code, out, _ = finish(*command, database=database)
    assert (code, f"{FILE_COUNT} unchanged" in out, "0 chunks encoded" in out) == (0, True, True)
    assert_each_file_is_stored_once(folder, database)


@pytest.mark.campaign
def test_worker_killed_over_token_vectors_is_followed_by_another(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PKB_TOKEN_VECTORS", "all")
    for path in list(folder.iterdir())[12:]:
        path.unlink()
    assert finish("ingest", str(folder), database=database)[0] == 0
    chunk_count = number_of(database, "corpus_chunk")
    worker = manage("worker", database=database)
    wait_until(lambda: number_of(database, "corpus_tokenvectors") > 0)
    end(worker, signal.SIGKILL)
    assert number_of(database, "corpus_tokenvectors") < chunk_count
    worker = manage("worker", database=database)
    wait_until(lambda: number_of(database, "corpus_tokenvectors") == chunk_count)
    assert end(worker, signal.SIGTERM) == 0
    assert find_broken(database) == []


def test_a_model_that_is_killed_in_its_making_is_made_by_the_next(
    folder: Path, database: str
) -> None:
    old, new = "hashing-64", "hashing-96"
    assert finish("ingest", str(folder), database=database)[0] == 0
    stored = number_of(database, "corpus_chunk")
    reembed = ["reembed", "--model", new, "--switch", "--json"]
    command = manage(*reembed, database=database)
    wait_until(lambda: number_of(database, f"corpus_embedding WHERE model = '{new}'") > 0)
    end(command, signal.SIGKILL)
    assert number_of(database, f"corpus_embedding WHERE model = '{old}'") == stored
    assert read(database, "SELECT embedding_model FROM corpus_collection") == [(old,)]
    assert find_broken(database) == []
    code, out, err = finish(*reembed, database=database)
    assert code == 0, err
    assert json.loads(out)["embedding_model"] == new
    rows = read(database, "SELECT model, count(*) FROM corpus_embedding GROUP BY model")
    assert set(rows) == {(old, stored), (new, stored)}
    statuses = "SELECT status, failed FROM corpus_job WHERE kind = 'reembed'"
    assert read(database, statuses) == [("succeeded", 0)]
    assert find_broken(database) == []


def test_killed_worker_goes_on_with_the_cells_that_are_missing(database: str) -> None:
    questions = [f"When was the granary number {number} mended?" for number in range(4)]
    with connected_to(name_of(database)):
        collection = Collection.objects.get_named("default")
        for number in range(4):
            ingest_text_of(collection)(long_text(3).replace("Entry", f"Note {number}"))
        save_grid(Grid(collection=collection, name="Granaries", questions=questions))

    def cells() -> set[object]:
        of_grids = "SELECT id FROM qa_answer WHERE grid_id IS NOT NULL"
        return {key for (key,) in read(database, of_grids)}

    worker = manage("worker", database=database)
    wait_until(lambda: len(cells()) > 0)
    end(worker, signal.SIGKILL)
    stored = cells()
    assert 0 < len(stored) < 4 * len(questions)
    assert find_broken(database) == []
    worker = manage("worker", database=database)
    wait_for_job(database, "grid", 4, 0)
    end(worker, signal.SIGTERM)
    assert stored < cells()
    assert len(cells()) == 4 * len(questions)
    assert find_broken(database) == []


@pytest.mark.django_db(transaction=True)
def test_a_crawl_goes_on_where_the_worker_was_killed(fetching: None, cheap_model: None) -> None:
    paths = ["/", *(f"/{number}" for number in range(6))]
    is_killed = Event()
    with serving() as site:
        for number, path in enumerate(paths):
            site.has(path, page(f"Page {number}", f"{number}. {LIGHTHOUSE}", *paths))
        answer = site.pages["/2"]

        def wait_first(handler: Handler) -> None:
            is_killed.wait(60)
            answer(handler)

        site.pages["/2"] = wait_first
        collection = Collection.objects.get_named("default")
        kept, _ = add_site(f"{site.url}/", SiteLimits(), collection=collection)
        job = refresh_site(kept.pk)
        fetching_there = {"PKB_FETCH": "http", "PKB_FETCH_HOSTS": "localhost"}
        database = database_url(str(connection.settings_dict["NAME"]))
        worker = manage("worker", database=database, PKB_CRAWL_DELAY_S="0", **fetching_there)
        wait_until(lambda: "/2" in site.asked)
        end(worker, signal.SIGKILL)
        assert 0 < Document.objects.count() < len(paths)
        is_killed.set()
        ProcrastinateJob.objects.all()._raw_delete("default")

        def is_ended() -> bool:
            """Run a slice; at first the dead worker's lock may still be there."""
            run_job_slice(job.pk)
            job.refresh_from_db()
            return not job.is_unfinished

        wait_until(is_ended)
    # What the worker was at is asked for again, and nothing else.
    assert sorted(site.asked) == sorted(["/robots.txt", "/sitemap.xml", *paths, "/2"])
    assert (job.status, job.done, Document.objects.count()) == ("succeeded", 7, 7)
    assert list(find_violations()) == []


def told(database: str) -> dict[str, int]:
    """Count the deliveries of webhooks by their state."""
    query = "SELECT state, count(*)::int FROM corpus_webhookdelivery GROUP BY state"
    rows: Any = read(database, query)
    return dict(rows)


def test_a_worker_killed_while_it_sends_webhooks_loses_none(database: str, settings: Any) -> None:
    settings.PKB_WEBHOOK_HOSTS = {"localhost"}
    count, is_killed = 6, Event()
    with serving() as receiver:
        receiver.says("/", b"")
        answer = receiver.pages["/"]

        def hold_third(handler: Handler) -> None:
            if len(receiver.bodies) == 3:
                is_killed.wait(60)
            answer(handler)

        receiver.pages["/"] = hold_third
        with connected_to(name_of(database)):
            collection = Collection.objects.get_named("default")
            create_webhook(receiver.url, [WebhookEvent.DOCUMENT_READY], collection=collection)
            for number in range(count):
                ingest_text_of(collection)(long_text(3).replace("Entry", f"Note {number}"))
        worker = manage("worker", database=database, PKB_WEBHOOK_HOSTS="localhost")
        wait_until(lambda: len(receiver.bodies) == 3)
        end(worker, signal.SIGKILL)
        is_killed.set()
        assert told(database) == {"sent": 2, "waiting": count - 2}
        with connected_to(name_of(database)):  # the minute until the next attempt
            Webhook.objects.get().deliveries.update(next_at="2026-01-01T00:00Z")
        worker = manage("worker", database=database, PKB_WEBHOOK_HOSTS="localhost")
        wait_until(lambda: told(database) == {"sent": count})
        end(worker, signal.SIGTERM)
        received = [json.loads(body)["data"]["id"] for body in receiver.bodies]
        ids = {headers["webhook-id"] for headers in receiver.headers}
    assert set(received) == {
        str(key) for (key,) in read(database, "SELECT id FROM corpus_document")
    }
    assert (len(received), len(ids)) == (count + 1, count)  # one came twice, and is known by its id
    assert find_broken(database) == []
