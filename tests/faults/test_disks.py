"""A disk without room: what is sent is refused as such, and nothing half is left."""

import asyncio
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from psycopg import errors

from corpus.api.outages import translate_error
from corpus.errors import DatabaseUnavailable, StorageUnavailable
from corpus.invariants import find_violations
from corpus.jobs.uploads import start_upload
from corpus.models import Collection, Document, Job
from pkb.http.bodies import BodyReader
from pkb.http.rejections import RequestRejected
from pkb.postgres.programs import PostgresDidNotStart
from pkb.postgres.server import EmbeddedPostgres
from tests.campaign.disks import MIB, mounted, remount, why_no_mounts
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE
from tests.unit.admission import Client

ROOM_MIB = 1
TOO_LARGE_BYTES = 2 * MIB


@pytest.fixture
def small_disk() -> Iterator[Path]:
    if reason := why_no_mounts():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory() as folder, mounted(Path(folder), ROOM_MIB):
        yield Path(folder)


@pytest.fixture
def uploads(small_disk: Path, settings: Any) -> Path:
    settings.PKB_KEEP_ORIGINALS, settings.DATA_DIR = True, small_disk
    return small_disk / "uploads"


def page(padding_bytes: int) -> SimpleUploadedFile:
    content = f"<p>{LIGHTHOUSE}</p><!--{' ' * padding_bytes}-->".encode()
    return SimpleUploadedFile("page.html", content, content_type="text/html")


def test_a_file_without_room_is_refused_and_taken_once_there_is_some(
    api: Api, cheap_model: None, uploads: Path
) -> None:
    refused = api.post("/ingest", {"file": page(TOO_LARGE_BYTES)}, format="multipart")
    assert (refused.status_code, refused.json()["error"]) == (507, "storage_unavailable")
    assert not Document.objects.exists()
    assert list(uploads.iterdir()) == []
    assert api.post("/ingest", {"text": LIGHTHOUSE}).status_code == 201
    Document.objects.all().delete()
    remount(uploads.parent, 4 * ROOM_MIB)
    assert (
        api.post("/ingest", {"file": page(TOO_LARGE_BYTES)}, format="multipart").status_code == 201
    )
    assert list(find_violations()) == []


def test_files_sent_together_are_not_kept_where_one_has_no_room(db: None, uploads: Path) -> None:
    collection = Collection.objects.get_named("default")
    with pytest.raises(OSError, match="No space left"):
        start_upload([page(10), page(TOO_LARGE_BYTES)], collection=collection)
    assert list(uploads.iterdir()) == []
    assert not Job.objects.exists()


def test_a_body_without_room_is_refused(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))

    async def test() -> None:
        reader = BodyReader(timeout_s=60, held_bytes=10 * TOO_LARGE_BYTES)
        excess = RequestRejected(413, "too large")
        for _ in range(2):
            client = Client().say(b"x" * TOO_LARGE_BYTES)
            with pytest.raises(RequestRejected) as refused:
                await reader.read(
                    client.receive, caller="one", max_bytes=TOO_LARGE_BYTES, excess=excess
                )
            assert refused.value.status == 507

    asyncio.run(test())


def test_a_read_only_folder_is_told_by_the_database_that_is_to_be_there(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(PostgresDidNotStart, match="Read-only file system") as caught:
        EmbeddedPostgres(small_disk / "postgres").start()
    assert isinstance(translate_error(caught.value), DatabaseUnavailable)


def test_postgres_without_room_is_told_as_such() -> None:
    error = OperationalError("could not extend file")
    error.__cause__ = errors.DiskFull("could not extend file: No space left on device")
    assert isinstance(translate_error(error), StorageUnavailable)
