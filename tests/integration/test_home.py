"""One host keeps files; processes on others keep none and do no job that reads some."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.catalogue import delete_document
from corpus.errors import PathIngestionOff
from corpus.ingestion import uploaded_files
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.ingestion.uploaded_files import delete_dropped_files, delete_upload
from corpus.invariants.run_checks import find_in_files
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.uploads import start_upload
from corpus.models import Collection, Document, DroppedFile, Job
from corpus.models.installation import FILES_ON_OTHER_HOST, Installation
from corpus.queue import (
    DROP_FILES,
    FILL_PRIORITY,
    HOME_QUEUE,
    QUEUE,
    enqueue_job,
    read_backlog,
    served_queues,
)
from corpus.roots.allowed import AllowedPath
from corpus.roots.shown_paths import uploads_folder
from corpus.watched.folders import watch_folder
from pkb.backup.export import export_to
from pkb.backup.manifest import BackupError
from tests.support.client import Api
from tests.support.commands import refusal, run
from tests.support.documents import LIGHTHOUSE

Go = Callable[[str], None]


@pytest.fixture
def on_host(settings: Any, tmp_path: Path, cheap_model: None, empty_queue: None) -> Go:
    """Go on as a process of the host of that name, whose data folder is its own."""
    settings.PKB_KEEP_ORIGINALS = True

    def go(name: str) -> None:
        settings.DATA_DIR = tmp_path / name
        settings.DATA_DIR.mkdir(exist_ok=True)

    go("first")
    assert Installation.objects.claim_files()
    return go


def send_file(text: str = LIGHTHOUSE) -> Document:
    file = SimpleUploadedFile("coast.txt", text.encode())
    stored = Api().post("/ingest", {"file": file}, format="multipart")
    return Document.objects.get(pk=stored.json()["document_id"])


def waiting(queue: str) -> list[str]:
    rows = ProcrastinateJob.objects.filter(
        queue_name=queue, status="todo", priority__gt=FILL_PRIORITY
    )
    return sorted(rows.values_list("task_name", flat=True))


def test_jobs_that_read_files_are_for_workers_of_the_host_that_has_them(
    on_host: Go, collection: Collection, tmp_path: Path
) -> None:
    start_sync(collection, SyncOptions(paths=(str(tmp_path),)))
    enqueue_job(Job.objects.create(kind=Job.Kind.EDIT, collection=collection).pk)
    assert (waiting(HOME_QUEUE), waiting(QUEUE)) == (["corpus.run_job"], ["corpus.run_job"])
    # What nobody here can do is told as waiting all the same.
    assert served_queues() == [QUEUE, HOME_QUEUE]
    on_host("second")
    assert served_queues() == [QUEUE]
    assert read_backlog().waiting_count == 2


def test_elsewhere_texts_come_in_and_no_file_is_kept(
    on_host: Go, collection: Collection, tmp_path: Path
) -> None:
    assert send_file().kept_file
    Document.objects.all().delete()
    on_host("second")
    assert not Installation.objects.claim_files()
    document = send_file()
    assert (document.kept_file, document.status) == ("", "completed")
    file = SimpleUploadedFile("coast.txt", LIGHTHOUSE.encode())
    folder = AllowedPath(tmp_path, tmp_path)
    for refused in (
        lambda: start_upload([file], collection=collection),
        lambda: start_sync(collection, SyncOptions(paths=(str(tmp_path),))),
        lambda: watch_folder(folder, collection=collection),
    ):
        with pytest.raises(PathIngestionOff, match="on another host"):
            refused()
    assert [path.name for path in uploads_folder().iterdir()] == ["host"]
    # A command does itself what it was told.
    start_sync(collection, SyncOptions(paths=(str(tmp_path),)), background=False)


def test_a_document_that_is_deleted_elsewhere_loses_its_file_at_home(
    on_host: Go, django_capture_on_commit_callbacks: Any
) -> None:
    document = send_file()
    kept = uploads_folder() / document.kept_file
    assert kept.is_file()
    on_host("second")
    with django_capture_on_commit_callbacks(execute=True):
        delete_document(document.pk)
    assert waiting(HOME_QUEUE) == [DROP_FILES]
    # What another host finds of it is nothing, and no reason to forget it.
    assert delete_dropped_files(should_stop=never)
    on_host("first")
    DroppedFile.objects.bulk_create([DroppedFile(folder=name) for name in ("../first", "host")])
    assert kept.is_file()
    assert delete_dropped_files(should_stop=never)
    assert not kept.parent.exists()
    assert (uploads_folder() / "host" / "mark").is_file()
    assert not DroppedFile.objects.exists()


def never() -> bool:
    return False


def test_whatever_is_deleted_elsewhere_is_one_task_and_lost_by_no_kill(
    on_host: Go, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(uploaded_files, "DROPPED_AT_ONCE", 2)
    sent = [send_file(f"House {number} has {number} windows to the sea.") for number in range(5)]
    folders = sorted((uploads_folder() / each.kept_file).parent for each in sent)
    on_host("second")
    # A process that dies at the commit asks nobody, and has written what is to go.
    with django_capture_on_commit_callbacks(execute=False):
        delete_document(sent[0].pk)
    with django_capture_on_commit_callbacks(execute=True):
        Document.objects.all().delete()
    assert waiting(HOME_QUEUE) == [DROP_FILES]
    on_host("first")
    assert all(each.is_dir() for each in folders)
    # Killed between a file and its row.
    with monkeypatch.context() as killed:
        killed.setattr("shutil.rmtree", removing(folders[1]))
        with pytest.raises(KeyboardInterrupt):
            delete_dropped_files(should_stop=never)
    assert [each.is_dir() for each in folders] == [False, False, True, True, True]
    assert DroppedFile.objects.count() == 5
    # A turn ends with what was looked at by then.
    turns = iter([False, True])
    assert not delete_dropped_files(should_stop=lambda: next(turns))
    assert DroppedFile.objects.count() == 3
    assert delete_dropped_files(should_stop=never)
    assert not any(each.exists() for each in folders)
    assert not DroppedFile.objects.exists()


def removing(last: Path) -> Callable[..., None]:
    """Remove folders up to one, and be killed by it."""

    def remove(folder: Path, **_: Any) -> None:
        next(folder.iterdir()).unlink()
        folder.rmdir()
        if folder == last:
            raise KeyboardInterrupt

    return remove


def test_of_a_deletion_that_is_undone_nothing_is_dropped(on_host: Go) -> None:
    document = send_file()
    on_host("second")
    with suppress(RuntimeError), transaction.atomic():
        delete_document(document.pk)
        raise RuntimeError
    assert not DroppedFile.objects.exists()


def test_nothing_is_said_of_files_that_are_elsewhere(on_host: Go, tmp_path: Path) -> None:
    document = send_file()
    kept = uploads_folder() / document.kept_file
    on_host("second")
    assert list(find_in_files()) == []
    with pytest.raises(BackupError, match="on another host"):
        export_to(tmp_path / "backup", vectors=False)
    on_host("first")
    kept.unlink()
    assert [found.key for found in find_in_files()] == [str(document.pk)]


def test_hosts_that_share_the_folder_of_uploads_are_one(on_host: Go, tmp_path: Path) -> None:
    on_host("second")
    (tmp_path / "second" / "uploads").symlink_to(tmp_path / "first" / "uploads")
    assert Installation.objects.claim_files()
    assert served_queues() == [QUEUE, HOME_QUEUE]


def test_files_move_to_another_host_when_it_is_said(on_host: Go) -> None:
    assert "has the files" in run("home")[0]
    on_host("second")
    assert refusal("home")[0] == FILES_ON_OTHER_HOST
    run("home", "--here")
    on_host("first")
    assert refusal("home")[0] == FILES_ON_OTHER_HOST


def test_what_is_dropped_is_a_sent_file_and_no_path_that_leads_out_again(
    tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    sent = tmp_path / "uploads" / ("0" * 32) / "a.txt"
    other = tmp_path / "notes" / "a.txt"
    for path in (sent, other):
        path.parent.mkdir(parents=True)
        path.touch()
    for path in (other, sent.parent / ".." / ".." / "notes" / "a.txt", sent.parent / ".." / "a"):
        delete_upload(path)
    assert other.exists()
    assert sent.exists()
    delete_upload(sent)
    assert not sent.parent.exists()
