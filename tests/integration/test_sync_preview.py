"""What a sync is told to do beforehand is what it does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.ingestion.folder_mirror import FolderMirror, SyncOptions
from corpus.models import Collection, Document, Job
from tests.support.database import fingerprint
from tests.support.documents import BAKERY, LIGHTHOUSE, long_text
from tests.support.sync_tree import sync_tree

Change = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (root / "b.txt").write_text(BAKERY)
    (root / "c.txt").write_text(long_text(4))
    (root / "empty.txt").write_bytes(b"")
    return root


def foretold(folder: Path, collection: Collection, **options: Any) -> dict[str, str]:
    wanted = SyncOptions(paths=(str(folder.resolve()),), mirror=True, **options)
    results = FolderMirror(collection, wanted).preview()
    return {Path(path).name: result.outcome.value for path, result in results}


def swap(root: Path) -> None:
    (root / "b.txt").rename(root / "x")
    (root / "c.txt").rename(root / "b.txt")
    (root / "x").rename(root / "c.txt")


def move_and_copy(root: Path) -> None:
    (root / "c.txt").rename(root / "moved.txt")
    (root / "copy.txt").write_bytes((root / "moved.txt").read_bytes())


CHANGES: dict[str, tuple[Change, dict[str, str]]] = {
    "nothing": (lambda root: None, {"a.md": "unchanged", "empty.txt": "refused"}),
    "added": (lambda root: (root / "d.txt").write_text(LIGHTHOUSE), {"d.txt": "added"}),
    "replaced": (lambda root: (root / "b.txt").write_text(LIGHTHOUSE), {"b.txt": "replaced"}),
    "renamed": (lambda root: (root / "c.txt").rename(root / "z.txt"), {"z.txt": "renamed"}),
    "removed": (lambda root: (root / "b.txt").unlink(), {"b.txt": "removed"}),
    "copied": (lambda root: (root / "d.txt").write_text(BAKERY), {"d.txt": "unchanged"}),
    "swapped": (swap, {"b.txt": "renamed", "c.txt": "unchanged"}),
    "moved and copied": (move_and_copy, {"copy.txt": "renamed", "moved.txt": "unchanged"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_sync_does_what_was_foretold(folder: Path, collection: Collection, name: str) -> None:
    change, expected = CHANGES[name]
    sync_tree(folder, collection=collection)
    change(folder)
    told = foretold(folder, collection)
    assert expected.items() <= told.items()
    job = sync_tree(folder, collection=collection)
    assert {Path(item.path).name: item.outcome for item in job.items.all()} == told


def test_foretelling_writes_nothing(folder: Path, collection: Collection) -> None:
    sync_tree(folder, collection=collection)
    for change in (move_and_copy, lambda root: (root / "b.txt").unlink()):
        change(folder)
    (folder / "new.txt").write_text("A new file that is not there yet, and is long enough.")
    before = fingerprint()
    assert set(foretold(folder, collection).values()) >= {"added", "removed", "renamed"}
    assert fingerprint() == before


def test_two_new_files_of_one_content_are_one_document(
    folder: Path, collection: Collection
) -> None:
    (folder / "b2.txt").write_text(BAKERY)
    told = foretold(folder, collection)
    assert {told["b.txt"], told["b2.txt"]} == {"added", "unchanged"}


def test_with_other_settings_a_moved_file_is_replaced(folder: Path, collection: Collection) -> None:
    sync_tree(folder, collection=collection)
    (folder / "c.txt").rename(folder / "z.txt")
    assert foretold(folder, collection, tags=("new",))["z.txt"] == "replaced"


def test_what_is_not_wanted_is_left_alone(folder: Path, collection: Collection) -> None:
    sync_tree(folder, collection=collection)
    (folder / "b.txt").write_text(LIGHTHOUSE)
    told = foretold(folder, collection, exclude=("b.*", "empty.txt"))
    assert told == {"a.md": "unchanged", "c.txt": "unchanged"}
    assert Document.objects.count() == 4
    assert Job.objects.count() == 1
