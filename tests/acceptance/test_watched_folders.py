"""Folders are watched by a button of the library."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from corpus.jobs.run import run_job_slice
from corpus.models import Document, Job, WatchedFolder
from corpus.watched.folders import save_configured_folders
from tests.support.documents import LIGHTHOUSE

pytestmark = pytest.mark.usefixtures("cheap_model")


@pytest.fixture
def notes(settings: Any, tmp_path: Path) -> Path:
    settings.PKB_INGEST_ROOTS = [tmp_path]
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(LIGHTHOUSE)
    return notes


def watch(client: Client, path: str = "notes", collection: str = "default") -> int:
    sent = {"content_path": path, "collection": collection}
    return client.post("/ui/library/watch", sent).status_code


def section(client: Client) -> str:
    page = client.get("/ui/library").content.decode()
    return (
        page[page.index('id="watched"') :].split("</section>")[0] if 'id="watched' in page else ""
    )


def test_a_folder_is_watched_and_let_go(client: Client, notes: Path) -> None:
    assert section(client) == ""
    assert [watch(client), watch(client)] == [302, 302]
    folder = WatchedFolder.objects.get()
    assert (folder.path, folder.root, folder.is_set) == (str(notes), str(notes.parent), False)
    shown = section(client)
    assert f"{notes.parent.name}/notes</span>" in shown
    assert "Not checked yet" in shown
    assert "No worker is running" in shown
    client.post(f"/ui/library/watched/{folder.pk}/stop")
    assert section(client) == ""


@pytest.mark.parametrize(
    ("path", "collection", "status"),
    [("/etc", "default", 404), ("notes/a.md", "default", 404), ("notes", "nowhere", 404)],
    ids=["outside", "a file", "no collection"],
)
def test_what_may_not_be_synced_is_not_watched(
    client: Client, notes: Path, path: str, collection: str, status: int
) -> None:
    assert watch(client, path, collection) == status
    assert not WatchedFolder.objects.exists()


def test_a_watched_folder_that_was_emptied_on_purpose_is_synced_by_hand(
    client: Client, notes: Path
) -> None:
    watch(client)
    key = WatchedFolder.objects.get().pk
    client.post(f"/ui/library/watched/{key}/sync")
    assert run_job_slice(Job.objects.get().pk)
    (notes / "a.md").unlink()
    assert Document.objects.exists()
    client.post(f"/ui/library/watched/{key}/sync")
    assert run_job_slice(Job.objects.latest("created_at").pk)
    assert not Document.objects.exists()


def test_a_folder_of_the_settings_is_not_let_go(client: Client, notes: Path, settings: Any) -> None:
    settings.PKB_WATCH = [(notes, "default")]
    save_configured_folders()
    key = WatchedFolder.objects.get().pk
    assert "PKB_WATCH" in section(client)
    assert "Stop syncing" not in section(client)
    client.post(f"/ui/library/watched/{key}/stop")
    assert WatchedFolder.objects.exists()
    assert client.post("/ui/library/watched/999999/sync").status_code == 404
