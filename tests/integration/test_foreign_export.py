"""A folder that somebody else made brings what its manifest selects, and no way in."""

import gzip
import json
import sys
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command
from django.utils import timezone

from corpus.ingestion.folder_mirror import SyncOptions
from corpus.jobs.states import retry_job
from corpus.models import Collection, Document, Job, WatchedFolder
from pkb.backup.export import export_to
from pkb.backup.manifest import BackupError, hash_file
from pkb.backup.restore import restore_from
from tests.support.commands import run
from tests.support.database import fingerprint
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest
from tests.support.jobs import run_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("cheap_model")]

Row = dict[str, Any]
UPLOAD = f"uploads/{'0' * 32}/a.txt"


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.PKB_TOKEN_VECTORS = "off"
    upload = settings.DATA_DIR / UPLOAD
    upload.parent.mkdir(parents=True)
    upload.write_text(BAKERY)
    (settings.DATA_DIR / "secret_key").write_text("ours")
    return tmp_path


@pytest.fixture
def folder(home: Path, ingest: Ingest, collection: Collection) -> Path:
    """An export of a document and of eve, a superuser, beside an empty installation."""
    ingest(LIGHTHOUSE)
    get_user_model().objects.create_superuser("eve")
    return exported(home)


def exported(home: Path) -> Path:
    export_to(home / "export", vectors=True)
    call_command("flush", interactive=False, verbosity=0)
    return home / "export"


def everybody(brought: str) -> bool:
    return True


def describe(folder: Path, name: str, *rows: Row) -> Row:
    """Write rows to a file of the folder, and return how a manifest tells of it."""
    path = folder / name
    path.write_bytes(gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows)))
    return {"path": name, "bytes": path.stat().st_size, "sha256": hash_file(path)}


def read(folder: Path) -> Row:
    manifest: Row = json.loads((folder / "manifest.json").read_text())
    return manifest


def forge(folder: Path, **values: Any) -> None:
    """Put values into the manifest."""
    (folder / "manifest.json").write_text(json.dumps(read(folder) | values))


def forge_rows(folder: Path, name: str, **values: Any) -> None:
    """Put values into all rows of a table."""
    path = f"tables/{name}.jsonl.gz"
    lines = gzip.decompress((folder / path).read_bytes()).splitlines()
    file = describe(folder, path, *(json.loads(line) | values for line in lines))
    tables = read(folder)["tables"]
    forge(folder, tables=[t | {"file": file} if t["name"] == name else t for t in tables])


def test_a_manifest_brings_no_more_than_it_selects(folder: Path, settings: Any) -> None:
    former = (folder / "manifest.json").read_text()
    before = fingerprint()

    def refuse(named: str, **values: Any) -> None:
        forge(folder, **values)
        with pytest.raises(BackupError, match=named):
            restore_from(folder, is_trusted=everybody)
        (folder / "manifest.json").write_text(former)

    def refuse_table(named: str, name: str, path: str = "", column: str = "id") -> None:
        file = describe(folder, path or f"tables/{name}.jsonl.gz")
        added = {"name": name, "columns": [column], "rows": 0, "file": file}
        refuse(named, tables=[*read(folder)["tables"], added])

    for path in ("uploads/host/mark", "uploads/../aside.gz"):
        file = describe(folder, "aside.gz") | {"path": path}
        refuse(path, files=[describe(folder, "uploads.jsonl.gz", file)])
    refuse_table("accounts_apikey", "accounts_apikey")
    refuse_table("procrastinate_jobs", "procrastinate_jobs")
    refuse_table("accounts_event.oid", "accounts_event", column="oid")
    refuse_table("aside.gz", "accounts_event", "aside.gz")
    refuse("corpus_embedding", vectors=False)
    refuse("secret_key", files=[describe(folder, "secret_key")])
    refuse("uploads_folder", uploads_folder="data")
    assert fingerprint() == before
    assert (settings.DATA_DIR / "secret_key").read_text() == "ours"


def test_superusers_come_only_where_somebody_says_so_without_a_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge_rows(folder, "auth_user", password=make_password("known to eve"))
    before = fingerprint()

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    for stdin in (StringIO("y\n"), Terminal("n\n"), Terminal("")):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(CommandError, match=r"Nothing was restored.*'eve'.*--trusted"):
            run("restore", folder)
        assert fingerprint() == before
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    out, _, _ = run("restore", folder)
    assert "'eve'" in out
    assert not get_user_model().objects.get(is_superuser=True).has_usable_password()
    call_command("flush", interactive=False, verbosity=0)
    monkeypatch.setattr(sys, "stdin", StringIO())
    run("restore", folder, "--trusted")
    assert Document.objects.count() == 1


def test_a_folder_with_secrets_is_refused_unless_it_is_trusted(home: Path, settings: Any) -> None:
    """It could hold keys and the secret key where it has no superuser."""
    export_to(home / "backup", vectors=True, secrets=True)
    call_command("flush", interactive=False, verbosity=0)
    (settings.DATA_DIR / "secret_key").write_text("another")
    with pytest.raises(BackupError, match="secret key"):
        restore_from(home / "backup")
    assert (settings.DATA_DIR / "secret_key").read_text() == "another"
    restore_from(home / "backup", is_trusted=everybody)
    assert (settings.DATA_DIR / "secret_key").read_text() == "ours"


def test_a_link_is_not_followed(folder: Path) -> None:
    for name in ("manifest.json", "tables", "tables/corpus_chunk.jsonl.gz", "uploads", UPLOAD):
        path = folder / name
        path.rename(folder / "aside")
        path.symlink_to(folder / "aside")
        with pytest.raises(BackupError, match="links are not followed"):
            restore_from(folder, is_trusted=everybody)
        path.unlink()
        (folder / "aside").rename(path)
    restore_from(folder, is_trusted=everybody)


@pytest.mark.parametrize("bound", ["rows.MAX_ROW_BYTES", "manifest.MAX_ENTRY_BYTES"])
def test_a_line_without_an_end_is_refused(
    folder: Path, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pkb.backup.rows.READ_BYTES", 16)
    before = fingerprint()
    with monkeypatch.context() as lower:
        lower.setattr(f"pkb.backup.{bound}", 100)
        with pytest.raises(BackupError, match="a line of more than 100 bytes"):
            restore_from(folder, is_trusted=everybody)
    assert fingerprint() == before
    restore_from(folder, is_trusted=everybody)
    assert Document.objects.get().content.text == LIGHTHOUSE


def test_jobs_and_folders_of_elsewhere_read_nothing_here(
    home: Path, collection: Collection
) -> None:
    """At the terminal any folder may be named; whoever tries such a job again reads it."""
    private = home / "private" / "note.txt"
    private.parent.mkdir()
    private.write_text(LIGHTHOUSE)
    Job.objects.create(
        kind=Job.Kind.SYNC, collection=collection, status=Job.Status.FAILED, is_background=False,
        finished_at=timezone.now(), arguments=asdict(SyncOptions(paths=(str(private.parent),))),
    )  # fmt: skip
    listed = Job.objects.create(
        kind=Job.Kind.SYNC, collection=collection, total=1, is_listed=True,
        arguments=asdict(SyncOptions(paths=(str(private.parent),))) | {"root": None},
    )  # fmt: skip
    listed.items.create(key=str(private), path=str(private))
    WatchedFolder.objects.create(collection=collection, path=str(private.parent))
    restore_from(exported(home))
    assert not WatchedFolder.objects.exists()
    retry_job(Job.objects.get(status=Job.Status.FAILED).pk)
    for job in Job.objects.all():
        run_job(job)
        assert job.status == Job.Status.FAILED
        assert "outside of the folder" in job.errors[0]["reason"]
    assert not Document.objects.stored().exists()
