"""Archives and mailboxes become their files, whichever way they come in."""

import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from corpus.catalogue import delete_document
from corpus.errors import UnreadableFile
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.ingestion.packed_files import NESTED, PackedFiles, is_packed
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.uploads import start_upload
from corpus.loaders import LoaderLimits, unpack
from corpus.models import Collection, Document, Job
from corpus.roots.shown_paths import shown_path
from tests.support.client import Api
from tests.support.commands import run
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.jobs import run_job
from tests.support.mails import three_mails, write_mbox

FILES = {
    "coast/tower.md": f"# Tower\n\n{LIGHTHOUSE}".encode(),
    "village/bread.txt": BAKERY.encode(),
}
Members = dict[str, bytes]


def zipped(files: Members) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(files: Members, mode: str = "w:gz", *, link: str = "") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(entry)
    return packed.getvalue()


def mailbox(folder: Path) -> bytes:
    write_mbox(folder / "box", three_mails())
    return (folder / "box").read_bytes()


def places() -> set[str]:
    rows = Document.objects.stored().values_list("file_path", flat=True)
    return {shown_path(path) for path in rows}


def refusals(job: Job) -> dict[str, str]:
    rows = job.items.filter(outcome="refused").values_list("key", "reason")
    return {shown_path(key): reason for key, reason in rows}


def sync(collection: Collection, path: Path, **options: Any) -> Job:
    job = start_sync(collection, SyncOptions((str(path),), **options), background=False)
    return run_job(job)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.zip", zipped(FILES)),
        ("notes.tar", tarred(FILES, "w")),
        ("notes.tar.gz", tarred(FILES)),
        ("notes.TGZ", tarred(FILES)),
    ],
)
def test_an_archive_becomes_its_files(
    name: str, content: bytes, api: Api, settings: Any, collection: Collection, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    shown = {f"{name}/coast/tower.md", f"{name}/village/bread.txt"}
    upload = SimpleUploadedFile(name, content)
    job = run_job(start_upload([upload], collection=collection))
    assert (job.status, job.done) == ("succeeded", 2)
    assert places() == shown
    found = api.search("Who built the lighthouse?")[0]
    assert found["document_name"] == "Tower"
    Document.objects.all().delete()
    folder = tmp_path / "srv"
    folder.mkdir()
    (folder / name).write_bytes(content)
    settings.PKB_INGEST_ROOTS = [folder]
    assert sync(collection, folder, mirror=True).done == 2
    assert places() == {f"srv/{each}" for each in shown}
    assert [item.outcome for item in sync(collection, folder, mirror=True).items.all()] == (
        ["unchanged"] * 2
    )


def test_a_mailbox_in_a_folder_becomes_its_threads_and_attachments(
    settings: Any, collection: Collection, tmp_path: Path
) -> None:
    settings.PKB_INGEST_ROOTS = [tmp_path / "srv"]
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/coast.mbox").write_bytes(mailbox(tmp_path))
    job = sync(collection, tmp_path / "srv")
    assert places() == {
        "srv/coast.mbox/Lamp oil.eml",
        "srv/coast.mbox/Lamp oil/bakery.txt",
        "srv/coast.mbox/Bread.eml",
    }
    assert job.skipped == {"bin": 1}


def test_a_file_that_leaves_an_archive_leaves_the_collection(
    settings: Any, collection: Collection, tmp_path: Path
) -> None:
    archive = tmp_path / "notes.zip"
    archive.write_bytes(zipped(FILES))
    sync(collection, tmp_path, mirror=True)
    archive.write_bytes(zipped({"coast/tower.md": FILES["coast/tower.md"]}))
    job = sync(collection, tmp_path, mirror=True)
    assert sorted(item.outcome for item in job.items.all()) == ["removed", "unchanged"]
    archive.write_bytes(b"PK\x03\x04 broken off")
    job = sync(collection, tmp_path, mirror=True)
    assert [item.outcome for item in job.items.all()] == ["refused"]
    assert Document.objects.stored().count() == 1
    archive.unlink()
    sync(collection, tmp_path, mirror=True)
    assert not Document.objects.stored().exists()


def test_what_cannot_be_read_is_refused_and_the_rest_is_done(
    settings: Any, collection: Collection, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    hostile = {
        "../../outside.md": b"x", "/etc/cron.md": b"x", "inner.zip": zipped(FILES),
        "bomb.md": bytes(2**22), ".hidden.md": b"x", "__MACOSX/a.md": b"x", **FILES,
    }  # fmt: skip
    damaged = zipped({**FILES, "bad.md": b"The quay of Bavoke. " * 9}).replace(b"PK", b"PK", 1)
    at = damaged.index(b"bad.md") + 12
    broken = damaged[:at] + bytes([damaged[at] ^ 0xFF]) + damaged[at + 1 :]
    uploads = [
        SimpleUploadedFile("hostile.zip", zipped(hostile)),
        SimpleUploadedFile("broken.zip", broken),
        SimpleUploadedFile("linked.tar", tarred({"a.md": BAKERY.encode()}, "w", link="passwd.md")),
    ]
    job = run_job(start_upload(uploads, collection=collection))
    assert job.status == "succeeded"
    reasons = refusals(job)
    assert reasons.pop("broken.zip/bad.md").startswith("It is damaged in the archive")
    assert reasons == {
        "hostile.zip/outside.md": "It names a path outside of the archive.",
        "hostile.zip/etc/cron.md": "It names a path outside of the archive.",
        "hostile.zip/inner.zip": NESTED,
        "hostile.zip/bomb.md": "It unpacks to more than 100 times its size.",
        "linked.tar/passwd.md": "It is a link or a device.",
    }
    assert {"hostile.zip/coast/tower.md", "hostile.zip/village/bread.txt"} <= places()


def test_a_deleted_file_of_an_uploaded_archive_leaves_the_disk(
    settings: Any, collection: Collection, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    upload = SimpleUploadedFile("notes.zip", zipped(FILES))
    run_job(start_upload([upload], collection=collection))
    tower = Document.objects.get(title="Tower")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda act, **_: act())
        delete_document(tower.pk)
    left = [path for path in (tmp_path / "data/uploads").rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["bread.txt"]


def test_an_archive_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MAX_MEMBERS", 1)
    listed = unpack.list_members(zipped(FILES), limits=LoaderLimits())
    assert [member.name for member in listed] == ["coast/tower.md", ""]
    assert "The rest of the archive is left out: 1 files" in listed[1].refusal
    small = LoaderLimits(max_unpacked_bytes=400)
    assert "400 unpacked bytes" in unpack.list_members(tarred(FILES), limits=small)[-1].refusal
    small = LoaderLimits(max_file_bytes=300)
    assert "300 are allowed" in unpack.list_members(zipped(FILES), limits=small)[0].refusal


def test_files_of_one_name_are_all_read() -> None:
    packed = PackedFiles(tarred({}, "w"), name="a.tar", max_bytes=99)
    assert packed.members == []
    seen: set[str] = set()
    names = [unpack.unused_name(name, seen) for name in ("a/b.md", "a/b.md", "", "a/b.md")]
    assert names == ["a/b.md", "a/b (2).md", "file", "a/b (3).md"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.zip", b"PK\x03\x04 no"), ("a.tar.gz", b"\x1f\x8b no"), ("a.mbox", b"no mail\n")],
)
def test_what_is_no_archive_says_so(name: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        PackedFiles(content, name=name, max_bytes=99)


def test_an_archive_that_ends_early_gives_what_it_has() -> None:
    whole = tarred({"one.md": BAKERY.encode() * 9, "two.md": LIGHTHOUSE.encode() * 9}, "w")
    packed = PackedFiles(whole[:3_000], name="cut.tar", max_bytes=10_000)
    assert packed.read("one.md") == BAKERY.encode() * 9
    with pytest.raises(UnreadableFile, match="damaged in the archive"):
        packed.read("two.md")
    with pytest.raises(FileNotFoundError):
        packed.read("three.md")


def test_office_files_are_no_archives() -> None:
    document = zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<w/>"})
    assert not is_packed("report.zip", document)
    assert is_packed("report.zip", zipped(FILES))
    assert not is_packed("report.docx", document)


def test_the_command_lists_and_adds_the_files_of_an_archive(
    settings: Any, collection: Collection, tmp_path: Path
) -> None:
    archive = tmp_path / "notes.zip"
    archive.write_bytes(zipped({**FILES, "noise.bin": b"\0"}))
    out, err, _ = run("ingest", str(archive), "--dry-run")
    assert out.split() == [f"{archive}/coast/tower.md", f"{archive}/village/bread.txt"]
    assert "bin 1" in err
    _, _, code = run("ingest", str(archive))
    assert code == 0
    assert Document.objects.stored().count() == 2
    os.utime(archive, (1_700_000_000, 1_700_000_000))
    out, _, _ = run("ingest", str(tmp_path), "--exclude", "*.zip", "--dry-run")
    assert out == ""


def test_the_endpoint_takes_an_archive_as_a_job(
    api: Api, settings: Any, collection: Collection, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"

    def send(**fields: str) -> Any:
        file = SimpleUploadedFile("notes.zip", zipped(FILES))
        return api.post("/ingest", {"file": file, "tags": "coast", **fields}, format="multipart")

    reply = send(source="backup")
    assert (reply.status_code, reply.json()["kind"]) == (202, "sync")
    run_job(Job.objects.get(pk=reply.json()["id"]))
    assert places() == {"notes.zip/coast/tower.md", "notes.zip/village/bread.txt"}
    assert set(Document.objects.values_list("source", "tags__name")) == {("backup", "coast")}
    refused = send(title="Notes")
    assert refused.status_code == 400
    assert "several documents" in str(refused.json())
    empty = SimpleUploadedFile("empty.zip", zipped({}))
    job = run_job(start_upload([empty], collection=collection))
    assert refusals(job) == {"empty.zip": "There is no file in it."}
