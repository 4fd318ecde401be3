"""Jobs read what lies below their root, whatever is put in its place while they run."""

from pathlib import Path
from typing import Any

import pytest

from corpus.ingestion.folder_mirror import SyncOptions
from corpus.invariants import find_violations
from corpus.jobs.kinds.sync_job import SyncKind, start_sync
from corpus.jobs.run import begin_job, run_job_slice
from corpus.models import Chunk, Collection, Document, Job
from corpus.roots.shown_paths import matching, shown_path, shown_uri
from tests.support.documents import BAKERY, LIGHTHOUSE, long_text
from tests.support.jobs import run_job
from tests.support.sync_tree import sync_tree

SECRET = "The vault of the harbour office opens with four seven one one, says Maren Holt."


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    """A root with folders that are to be mirrored, and the like of them outside."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "notes" / "deep").mkdir(parents=True)
    (inside / "notes" / "a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (inside / "notes" / "deep" / "b.txt").write_text(BAKERY)
    (outside / "notes" / "deep").mkdir(parents=True)
    for name in ("a.md", "deep/b.txt"):
        (outside / "notes" / name).write_text(f"{SECRET} It is said in {name}.")
    settings.PKB_INGEST_ROOTS = [inside]
    return inside


def swap(root: Path, name: str) -> None:
    """Put a link to what is outside in the place of what is inside."""
    (root / name).rename(root / "away")
    (root / name).symlink_to(root.parent / "outside" / name)


def listed(root: Path, collection: Collection, *, is_asked_over_http: bool = True) -> Job:
    """A job that knows its files and has read none of them."""
    options = SyncOptions(
        paths=(str(root / "notes"),), root=str(root) if is_asked_over_http else "", mirror=True
    )
    job = start_sync(collection, options)
    begun = begin_job(job.pk)
    assert begun is not None
    assert begun.is_listed
    assert begun.items.pending().count() == 2
    return job


def outcomes(job: Job) -> dict[str, tuple[str, str]]:
    items = job.items.order_by("path").values_list("path", "outcome", "reason")
    return {Path(path).name: (outcome, reason) for path, outcome, reason in items}


def identities() -> dict[str, Any]:
    return {Path(path).name: pk for pk, path in Document.objects.values_list("pk", "file_path")}


@pytest.mark.parametrize("is_asked_over_http", [True, False])
@pytest.mark.parametrize("swapped", ["notes/a.md", "notes/deep"])
def test_a_link_put_in_place_before_the_worker_reads_is_not_followed(
    root: Path, collection: Collection, swapped: str, is_asked_over_http: bool
) -> None:
    job = listed(root, collection, is_asked_over_http=is_asked_over_http)
    swap(root, swapped)
    assert run_job_slice(job.pk)
    assert not Chunk.objects.filter(text__contains="vault").exists()
    seen = outcomes(job)
    broken = "a.md" if swapped == "notes/a.md" else "b.txt"
    (other,) = set(seen) - {broken}
    assert seen[broken] == ("failed", "Symbolic links are not followed.")
    assert seen[other] == ("added", "")
    assert list(find_violations()) == []


def test_the_mirrored_folder_itself_is_not_followed_as_a_link(
    root: Path, collection: Collection
) -> None:
    job = listed(root, collection)
    swap(root, "notes")
    assert run_job_slice(job.pk)
    reason = ("failed", "Symbolic links are not followed.")
    assert outcomes(job) == {"a.md": reason, "b.txt": reason}
    later = start_sync(collection, SyncOptions.from_json(job.arguments))
    run_job(later)
    assert later.errors == [{"path": "", "reason": "There is no inside/notes."}]
    assert not Chunk.objects.exists()


def test_a_link_put_in_place_before_listing_is_not_listed(
    root: Path, collection: Collection
) -> None:
    sync_tree(root / "notes", collection=collection)
    before = identities()
    swap(root, "notes/deep")
    job = sync_tree(root / "notes", collection=collection)
    assert set(outcomes(job)) == {"a.md"}
    # What stands behind the link is nobody's to say: it is neither read nor taken for gone.
    assert identities() == before


def test_a_file_that_moved_behind_a_link_is_renamed(root: Path, collection: Collection) -> None:
    sync_tree(root / "notes", collection=collection)
    before = identities()["b.txt"]
    (root / "notes" / "deep").rename(root / "notes" / "deeper")
    (root / "notes" / "deep").symlink_to(root / "notes" / "deeper")
    job = sync_tree(root / "notes", collection=collection)
    assert outcomes(job) == {"a.md": ("unchanged", ""), "b.txt": ("renamed", "")}
    assert identities()["b.txt"] == before


def test_a_root_that_is_not_allowed_any_more_is_not_read(
    root: Path, collection: Collection, settings: Any
) -> None:
    begun = listed(root, collection)
    queued = start_sync(collection, SyncOptions.from_json(begun.arguments))
    settings.PKB_INGEST_ROOTS = []
    assert run_job_slice(begun.pk)
    assert {outcome for outcome, _ in outcomes(begun).values()} == {"failed"}
    run_job(queued)
    assert queued.errors == [{"path": "", "reason": "There is no inside/notes."}]
    assert not Chunk.objects.exists()
    assert list(find_violations()) == []


def test_a_folder_renamed_after_listing_loses_nothing(root: Path, collection: Collection) -> None:
    (root / "notes" / "deep" / "c.txt").write_text(long_text(4))
    sync_tree(root / "notes", collection=collection)
    before = identities()
    options = SyncOptions(paths=(str(root / "notes"),), root=str(root), mirror=True, force=True)
    job = start_sync(collection, options)
    begin_job(job.pk)
    (root / "notes" / "deep").rename(root / "notes" / "moved")
    assert run_job_slice(job.pk)
    assert outcomes(job)["b.txt"] == ("failed", "No such file or directory")
    assert identities() == before
    again = sync_tree(root / "notes", collection=collection)
    assert {name: outcome for name, (outcome, _) in outcomes(again).items()} == {
        "a.md": "unchanged", "b.txt": "renamed", "c.txt": "renamed",
    }  # fmt: skip
    assert identities() == before
    assert list(find_violations()) == []


def test_a_folder_renamed_while_it_is_walked_loses_nothing(
    root: Path, collection: Collection
) -> None:
    (root / "notes" / "behind").mkdir()
    (root / "notes" / "behind" / "c.txt").write_text(long_text(4))
    sync_tree(root / "notes", collection=collection)
    before = identities()
    options = SyncOptions(paths=(str(root / "notes"),), mirror=True, batch_size=1)
    job = start_sync(collection, options, background=False)

    def rename_once() -> bool:
        # Asked between two files: one is listed, the folders are known and not yet opened.
        if job.items.count() == 1 and (root / "notes" / "deep").exists():
            (root / "notes" / "deep").rename(root / "notes" / "moved")
        return False

    SyncKind().list_items(job, should_stop=rename_once)
    job.refresh_from_db()
    assert run_job_slice(job.pk)
    assert outcomes(job)["deep"] == ("failed", "No such file or directory")
    assert identities() == before
    again = sync_tree(root / "notes", collection=collection)
    assert outcomes(again)["b.txt"] == ("renamed", "")
    assert identities() == before


def test_a_file_that_went_while_a_job_ran_goes_with_the_next(
    root: Path, collection: Collection
) -> None:
    sync_tree(root / "notes", collection=collection)
    before = identities()
    job = start_sync(collection, SyncOptions(paths=(str(root / "notes"),), mirror=True))
    begin_job(job.pk)
    (root / "notes" / "a.md").unlink()
    assert run_job_slice(job.pk)
    assert identities() == before
    again = sync_tree(root / "notes", collection=collection)
    assert outcomes(again)["a.md"] == ("removed", "")
    assert set(identities()) == {"b.txt"}


def test_a_path_too_long_for_an_address_stops_no_other(root: Path, collection: Collection) -> None:
    name = "é" * 100
    folder = root / "notes" / name / name / name / name
    folder.mkdir(parents=True)
    (folder / "c.txt").write_text(long_text(4))
    job = sync_tree(root / "notes", collection=collection)
    assert outcomes(job)["c.txt"] == ("refused", "Its path is too long.")
    assert {outcomes(job)[other] for other in ("a.md", "b.txt")} == {("added", "")}
    assert Document.objects.count() == 2


@pytest.mark.parametrize("roots", [[], ["/srv/inbox"], ["/srv/inbox", "/home/inbox", "/"]])
def test_what_is_compared_is_what_is_shown(
    collection: Collection, settings: Any, roots: list[str]
) -> None:
    settings.PKB_INGEST_ROOTS = [Path(root) for root in roots]
    for path in ("/srv/inbox/ä b/1%.md", "/srv/inbox-2/2_.md", "/home/inbox/3.md", "/4.md", ""):
        uri = Path(path).as_uri() if path else "file:///srv/inbox/given.md"
        row = Document.objects.create(collection=collection, file_path=path, source_uri=uri)
        shown = {
            "file_path": shown_path(path), "source_uri": shown_uri(uri, file_path=path),
        }  # fmt: skip
        for column, value in shown.items():
            found = Document.objects.filter(matching(column, "exact", value))
            assert list(found) == [row], (column, value)
