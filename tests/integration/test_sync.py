"""A collection mirrors a folder."""

import os
from pathlib import Path
from typing import Any

import pytest

from corpus.errors import BackendError, OriginalChanged
from corpus.ingestion.decisions import KnownDocument
from corpus.ingestion.file_scan import FileContent
from corpus.ingestion.folder_mirror import MAX_MOVE_ATTEMPTS, FolderMirror
from corpus.ingestion.original_files import read_original
from corpus.invariants import find_violations
from corpus.models import Chunk, Collection, Document, Job
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.sync_tree import sync_tree


def outcomes(job: Job) -> dict[str, str]:
    return {Path(item.path).name: item.outcome for item in job.items.all()}


def document(name: str) -> Document:
    return Document.objects.get(file_path__endswith=f"/{name}")


def encoded(job: Job) -> int:
    return sum(item.encoded_count for item in job.items.all())


def sync(folder: Path, collection: Collection, **options: Any) -> Job:
    job = sync_tree(folder, collection=collection, **options)
    assert list(find_violations()) == []
    assert (job.total, job.done, job.failed) == (
        job.items.count(),
        job.items.filter(status="done").count(),
        job.items.troubled().count(),
    )
    return job


def test_new_files_come_in(folder: Path, collection: Collection) -> None:
    job = sync(folder, collection, source="disk", tags=["coast"])
    assert job.status == Job.Status.SUCCEEDED
    assert outcomes(job) == {"a.md": "added", "b.txt": "added", "c.txt": "added"}
    assert encoded(job) == Chunk.objects.count()
    found = document("b.txt")
    assert found.status == Document.Status.COMPLETED
    assert len(found.file_hash) == 64
    assert found.last_modified is not None
    assert found.ingested_at is not None
    assert found.source == "disk"
    assert [tag.name for tag in found.tags.all()] == ["coast"]


@pytest.mark.usefixtures("cheap_model")
def test_a_file_is_replaced_when_a_file_that_it_includes_changes(
    folder: Path, collection: Collection
) -> None:
    (folder / "index.md").write_text("# All\n\n```{include} deep/b.txt\n```\n")
    sync(folder, collection)
    whole = document("index.md")
    assert BAKERY in whole.content.text
    assert whole.metadata["includes"] == ["deep/b.txt"]
    assert read_original(whole).endswith(b"b.txt\n```\n")
    (folder / "deep" / "b.txt").write_text(LIGHTHOUSE)
    with pytest.raises(OriginalChanged):
        read_original(whole)
    assert outcomes(sync(folder, collection))["index.md"] == "replaced"
    assert LIGHTHOUSE in document("index.md").content.text
    assert outcomes(sync(folder, collection))["index.md"] == "unchanged"


def test_a_second_sync_loads_and_encodes_nothing(
    folder: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(folder, collection)

    def load(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("an unchanged file was loaded")

    monkeypatch.setattr("corpus.ingestion.ingest.load_or_convert", load)
    monkeypatch.setattr("corpus.ingestion.ingest.get_embedder", load)
    os.utime(folder / "a.md", (1, 1))
    job = sync(folder, collection)
    assert set(outcomes(job).values()) == {"unchanged"}
    assert (job.total, job.done, encoded(job)) == (3, 3, 0)


def test_a_change_that_keeps_size_and_time_is_seen(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    path = folder / "deep" / "b.txt"
    before = path.stat()
    path.write_text(BAKERY.replace("Mondays", "Tuesday"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert outcomes(sync(folder, collection))["b.txt"] == "replaced"
    assert "Tuesday" in document("b.txt").content.text


def test_an_edited_paragraph_encodes_only_its_chunks(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    kept = set(document("c.txt").chunks.values_list("pk", flat=True))
    path = folder / "deep" / "c.txt"
    path.write_text(path.read_text().replace("Entry 2.5 says", "Entry 2.5 denies"))
    job = sync(folder, collection)
    assert outcomes(job)["c.txt"] == "replaced"
    assert 1 <= encoded(job) <= 4
    assert kept & set(document("c.txt").chunks.values_list("pk", flat=True))


def test_documents_from_elsewhere_are_left_alone(
    folder: Path, collection: Collection, tmp_path: Path, ingest: Any
) -> None:
    ingest("A note that came over HTTP, with no file behind it at all.", source_uri="note:1")
    other = tmp_path / "tree-2"
    other.mkdir()
    (other / "d.txt").write_text("Another folder has files of its own, of course.")
    sync(other, collection)
    (other / "d.txt").unlink()
    sync(folder, collection)
    assert Document.objects.count() == 5


def test_a_renamed_file_keeps_its_document_and_chunks(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    before = document("c.txt")
    chunks = list(before.chunks.values_list("pk", flat=True))
    (folder / "deep" / "c.txt").rename(folder / "moved.txt")
    job = sync(folder, collection)
    assert outcomes(job) == {"a.md": "unchanged", "b.txt": "unchanged", "moved.txt": "renamed"}
    after = document("moved.txt")
    assert after.pk == before.pk
    assert after.source_uri == (folder / "moved.txt").as_uri()
    assert list(after.chunks.values_list("pk", flat=True)) == chunks
    assert encoded(job) == 0
    assert Document.objects.count() == 3


def test_two_files_that_swap_names_swap_documents(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    first, second = folder / "deep" / "b.txt", folder / "deep" / "c.txt"
    ids = document("b.txt").pk, document("c.txt").pk
    first.rename(folder / "x")
    second.rename(first)
    (folder / "x").rename(second)
    job = sync(folder, collection)
    assert (document("c.txt").pk, document("b.txt").pk) == ids
    assert document("c.txt").content.text == BAKERY
    assert encoded(job) == 0


def test_a_copy_is_no_second_document_and_inherits_it(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    pk = document("b.txt").pk
    (folder / "copy.txt").write_text(BAKERY)
    job = sync(folder, collection)
    assert outcomes(job)["copy.txt"] == "unchanged"
    assert Document.objects.count() == 3
    (folder / "deep" / "b.txt").unlink()
    assert outcomes(sync(folder, collection))["copy.txt"] == "renamed"
    assert document("copy.txt").pk == pk


@pytest.mark.usefixtures("cheap_model")
def test_a_renamed_file_with_other_bytes_and_the_same_text_keeps_its_document(
    folder: Path, collection: Collection
) -> None:
    sync(folder, collection)
    before = document("b.txt")
    (folder / "deep" / "b.txt").unlink()
    (folder / "b2.txt").write_text(f"{BAKERY}\n\n")
    assert outcomes(sync(folder, collection))["b2.txt"] == "renamed"
    after = document("b2.txt")
    assert (after.pk, after.content.text) == (before.pk, BAKERY)
    assert outcomes(sync(folder, collection))["b2.txt"] == "unchanged"


@pytest.mark.usefixtures("cheap_model")
def test_a_document_that_others_keep_moving_is_waited_for_no_longer_than_a_few_times(
    folder: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(folder, collection)
    (folder / "deep" / "b.txt").rename(folder / "b2.txt")
    moves: list[Path] = []

    def lose(mirror: FolderMirror, twin: KnownDocument, file: FileContent) -> bool:
        moves.append(file.path)
        return False

    monkeypatch.setattr(FolderMirror, "_move", lose)
    assert outcomes(sync(folder, collection))["b2.txt"] == "renamed"
    assert len(moves) == MAX_MOVE_ATTEMPTS


def test_a_failed_file_stops_no_other_and_says_why(folder: Path, collection: Collection) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    job = sync(folder, collection)
    assert (job.total, job.done, job.failed) == (4, 3, 1)
    # Another try would refuse it, too.
    assert job.status == Job.Status.SUCCEEDED
    assert job.errors[0]["path"].endswith("bad.pdf")
    assert job.errors[0]["reason"]
    failed = document("bad.pdf")
    assert failed.status == Document.Status.FAILED
    assert failed.error == job.errors[0]["reason"]
    assert failed.content_sha256 == ""


def test_a_known_failure_is_told_again_without_loading(
    folder: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    reason = sync(folder, collection).errors[0]["reason"]
    monkeypatch.setattr("corpus.ingestion.ingest.load_or_convert", None)
    job = sync(folder, collection)
    assert outcomes(job)["bad.pdf"] == "refused"
    assert job.errors[0]["reason"] == reason


def test_a_failed_file_that_is_mended_comes_in(folder: Path, collection: Collection) -> None:
    (folder / "bad.txt").write_bytes(b"")
    sync(folder, collection)
    pk = document("bad.txt").pk
    (folder / "bad.txt").write_text("It is mended now, and has a text worth keeping.")
    job = sync(folder, collection)
    assert outcomes(job)["bad.txt"] == "added"
    assert document("bad.txt").pk == pk
    assert document("bad.txt").error == ""


def test_a_version_that_cannot_be_read_leaves_the_old_one(
    folder: Path, collection: Collection
) -> None:
    sync(folder, collection)
    (folder / "deep" / "b.txt").write_bytes(b"text \x00 with NUL " * 9)
    job = sync(folder, collection)
    assert outcomes(job)["b.txt"] == "refused"
    kept = document("b.txt")
    assert (kept.status, kept.content.text) == (Document.Status.FAILED, BAKERY)
    (folder / "deep" / "b.txt").write_text(BAKERY)
    sync(folder, collection)
    assert document("b.txt").status == Document.Status.COMPLETED


def test_other_settings_cut_unchanged_files_anew(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    before = Chunk.objects.count()
    collection.chunk_size = 40
    collection.save()
    assert set(outcomes(sync(folder, collection)).values()) == {"replaced"}
    assert Chunk.objects.count() > before


def test_force_takes_unchanged_files_in_again_and_encodes_nothing(
    folder: Path, collection: Collection
) -> None:
    sync(folder, collection)
    job = sync(folder, collection, force=True)
    assert set(outcomes(job).values()) == {"replaced"}
    assert encoded(job) == 0


def test_a_folder_that_is_not_there_removes_nothing(folder: Path, collection: Collection) -> None:
    sync(folder, collection)
    folder.rename(folder.with_name("unmounted"))
    job = sync(folder, collection)
    assert job.status == Job.Status.FAILED
    assert "There is no" in job.errors[0]["reason"]
    assert Document.objects.count() == 3


def test_files_are_listed_as_pending_documents_at_once(
    folder: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []

    def look(*args: Any, **kwargs: Any) -> Any:
        seen.append(dict(Document.objects.values_list("file_path", "status")))
        raise BackendError("not now")

    monkeypatch.setattr("corpus.ingestion.ingest.load_or_convert", look)
    job = sync(folder, collection)
    assert sorted(seen[0].values()) == ["pending", "pending", "processing"]
    assert job.failed == 3
    monkeypatch.undo()
    # A backend's failure is none of the file: it is tried again.
    assert set(outcomes(sync(folder, collection)).values()) == {"added"}


def test_a_name_that_is_not_utf8_is_a_failure(folder: Path, collection: Collection) -> None:
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("A text under a name in another encoding.")
    job = sync(folder, collection)
    assert job.errors == [{"path": str(folder / "caf?.txt"), "reason": "Its name is not UTF-8."}]
    assert (job.total, job.done, Document.objects.count()) == (4, 3, 3)
