"""A collection mirrors a folder of a storage service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pydantic import SecretStr, ValidationError

from corpus.models import Document, Job
from corpus.sources.storage import Settings
from corpus.watched.due_syncs import sync_source
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.jobs import run_job
from tests.support.processes import wait_for_environment
from tests.support.storage_servers import (
    SECRET,
    Server,
    s3_server,
    sftp_server,
    webdav_server,
)

pytestmark = pytest.mark.usefixtures("cheap_model", "no_violations")
SERVERS = {"s3": s3_server, "webdav": webdav_server, "sftp": sftp_server}
FERRY = "The ferry to Bavoke leaves at seven."


@pytest.fixture(params=SERVERS)
def server(request: Any, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "served").mkdir()
    programs = wait_for_environment("clients") / "bin"
    with SERVERS[request.param](programs, tmp_path / "served") as running:
        yield running


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def sync(settings: Any, secret: str = "", **given: Any) -> Job:
    given |= {"secret_env": "STORAGE_SECRET"} if secret else {}
    source = Settings(name="drive", kind="storage", **given)
    settings.PKB_SOURCES = [source.model_copy(update={"secret": SecretStr(secret)})]
    return run_job(sync_source("drive"))


def outcomes(job: Job) -> list[str]:
    return sorted(job.items.values_list("outcome", flat=True))


def stored() -> dict[str, str]:
    rows = Document.objects.stored().values_list("source_uri", "content__text")
    return {uri.rpartition("/notes/")[2]: text for uri, text in rows}


@pytest.mark.slow  # its servers are not installed for a quick run
def test_files_of_a_server_are_mirrored(server: Server, settings: Any) -> None:
    server.put(lamp=LIGHTHOUSE, bread=BAKERY)
    assert outcomes(sync(settings, SECRET, **server.settings)) == ["added"] * 2
    assert stored() == {"lamp.md": LIGHTHOUSE, "bread.md": BAKERY}
    assert outcomes(sync(settings, SECRET, **server.settings)) == ["unchanged"] * 2
    server.put(bread=FERRY)
    server.remove("lamp")
    assert outcomes(sync(settings, SECRET, **server.settings)) == ["removed", "replaced"]
    assert stored() == {"bread.md": FERRY}
    refused = sync(settings, "not-the-secret", **server.settings)
    if "papers" not in server.root:  # moto admits everybody
        assert refused.status == Job.Status.FAILED
        assert refused.errors[0]["reason"].startswith("drive: ")
    assert "not-the-secret" not in str(refused.errors)
    assert stored() == {"bread.md": FERRY}


def test_a_folder_that_cannot_be_listed_deletes_nothing(
    memory: MemoryFileSystem, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe({"/notes/a/lamp.md": LIGHTHOUSE.encode(), "/notes/b/bread.md": BAKERY.encode()})
    assert outcomes(sync(settings, url="memory://notes")) == ["added"] * 2
    listed = MemoryFileSystem.ls

    def ls(self: Any, path: str, **options: Any) -> Any:
        if path.endswith("/b"):
            raise PermissionError("no way into b")
        return listed(self, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "ls", ls)
    job = sync(settings, url="memory://notes")
    assert (job.status, "no way into b" in str(job.errors)) == (Job.Status.FAILED, True)
    assert stored() == {"a/lamp.md": LIGHTHOUSE, "b/bread.md": BAKERY}


def test_files_are_taken_as_of_a_folder(memory: MemoryFileSystem, settings: Any) -> None:
    names = ("lamp.md", ".hidden.md", ".git/config.md", "node_modules/x.md", "a.exe", "old/b.md")
    memory.pipe({f"/notes/{name}": f"{name}: {LIGHTHOUSE}".encode() for name in names})
    sync(settings, url="memory://notes/", exclude=["old"])
    assert stored().keys() == {"lamp.md"}


def test_files_for_the_converter_are_listed(memory: MemoryFileSystem, settings: Any) -> None:
    settings.PKB_CONVERTER = {**settings.PKB_CONVERTER, "extensions": ("vsd",)}
    memory.pipe({f"/notes/{name}": b"x" for name in ("plan.VSD", "a.exe")})
    source = Settings(name="drive", kind="storage", url="memory://notes").open(max_bytes=100)
    assert [entry.uri for entry in source.list_entries()] == ["memory://notes/plan.VSD"]


def test_a_file_that_is_too_large_is_refused(memory: MemoryFileSystem, settings: Any) -> None:
    settings.PKB_MAX_FILE_BYTES = 100
    memory.pipe({"/notes/long.md": b"x" * 101, "/notes/lamp.md": LIGHTHOUSE.encode()[:90]})
    job = sync(settings, url="memory://notes")
    assert sorted(stored()) == ["lamp.md"]
    assert "more than 100 bytes" in job.errors[0]["reason"]


def test_a_driver_that_is_not_installed_is_named(settings: Any) -> None:
    job = sync(settings, url="gs://papers/notes")
    assert (job.status, "gcsfs" in str(job.errors)) == (Job.Status.FAILED, True)


@pytest.mark.parametrize("url", ["file:///etc", "s3://ida:secret@papers", "papers", "local://etc"])
def test_this_machine_and_credentials_are_no_address(url: str) -> None:
    with pytest.raises(ValidationError):
        Settings(name="drive", kind="storage", url=url)
