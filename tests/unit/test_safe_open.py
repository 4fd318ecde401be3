"""Files are found and read below a folder, and nothing outside of it."""

import os
from pathlib import Path

import pytest

from corpus.errors import UnreadableFile
from corpus.ingestion.file_scan import MAX_FOLDER_BYTES, FoundFile, find_files, read_file
from corpus.roots.safe_open import SymlinkFound, is_folder, read_mode

SECRET = "A secret that stands outside of the root."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "a" / "deep").mkdir(parents=True)
    (inside / "b").mkdir()
    for name in ("a/1.txt", "a/deep/2.txt", "b/3.txt", "4.txt"):
        (inside / name).write_text(f"The text of {name}.")
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    for name in ("1.txt", "deep/2.txt"):
        (outside / name).write_text(SECRET)
    return inside


def names(root: Path) -> list[str]:
    return [str(found.path.relative_to(root)) for found in find_files([root])]


def read(path: Path, root: Path) -> str:
    return read_file(path, root=root, max_bytes=1_000).content.decode()


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_files_of_a_folder_come_before_those_of_its_folders(root: Path) -> None:
    assert names(root) == ["4.txt", "a/1.txt", "a/deep/2.txt", "b/3.txt"]


def test_links_hidden_names_and_pipes_are_no_files(root: Path) -> None:
    before = names(root)
    (root / "link.txt").symlink_to(root.parent / "outside" / "1.txt")
    (root / "inner.txt").symlink_to(root / "4.txt")
    (root / "linked").symlink_to(root.parent / "outside")
    (root / ".env").write_text(SECRET)
    (root / ".git").mkdir()
    (root / ".git" / "note.txt").write_text(SECRET)
    os.mkfifo(root / "pipe.txt")
    assert names(root) == before


@pytest.mark.parametrize(
    ("place", "swapped"),
    [("a/1.txt", "a/1.txt"), ("a/1.txt", "a"), ("a/deep/2.txt", "a/deep"), ("a/deep/2.txt", "a")],
)
def test_a_link_put_in_place_after_listing_is_not_followed(
    root: Path, place: str, swapped: str
) -> None:
    (listed,) = [found.path for found in find_files([root]) if found.path == root / place]
    (root / swapped).rename(root / "away")
    target = Path(swapped).relative_to("a")
    (root / swapped).symlink_to(root.parent / "outside" / target)
    assert listed.read_text() == SECRET
    with pytest.raises(SymlinkFound):
        read(listed, root)


def test_a_link_in_place_of_the_root_itself_is_not_followed(root: Path) -> None:
    root.rename(root.with_name("away"))
    root.symlink_to(root.parent / "outside")
    assert (root / "1.txt").read_text() == SECRET
    assert [found.path for found in find_files([root])] == [root]
    with pytest.raises(SymlinkFound):
        read(root / "1.txt", root)
    assert not is_folder(root, root=root)


def test_a_folder_swapped_for_a_link_while_it_is_walked_is_named(root: Path) -> None:
    found = find_files([root])
    assert next(found).path == root / "4.txt"
    (root / "a").rename(root / "away")
    (root / "a").symlink_to(root.parent / "outside")
    (link, *rest) = found
    assert link.path == root / "a"
    assert isinstance(link.error, SymlinkFound)
    assert rest == [FoundFile(root / "b" / "3.txt")]


def test_what_is_named_below_a_root_is_found_from_there(root: Path) -> None:
    (root / "way").symlink_to(root / "a")
    listed = [found.path for found in find_files([root / "a"], root=root)]
    assert listed == [root / "a" / "1.txt", root / "a" / "deep" / "2.txt"]
    assert [found.path for found in find_files([root / "way" / "deep"], root=root)] == [
        root / "way" / "deep"
    ]


def test_a_pipe_a_device_or_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "pipe", tmp_path / "folder", Path("/dev/zero")):
        with pytest.raises(UnreadableFile, match="Not a regular file"):
            read(path, path.parent)


def test_the_folder_above_is_not_there(root: Path) -> None:
    assert (root / ".." / "outside" / "1.txt").exists()
    for path in (root / ".." / "outside" / "1.txt", root / "a" / ".." / "4.txt"):
        with pytest.raises(FileNotFoundError):
            read(path, root)
    with pytest.raises(PermissionError, match="outside of the folder"):
        read_mode(root.parent / "outside" / "1.txt", root=root)


def test_every_descriptor_is_closed(root: Path) -> None:
    before = open_descriptors()
    (root / "way").symlink_to(root / "a")
    names(root)
    for path in ("4.txt", "a/deep/2.txt"):
        read(root / path, root)
    for path in ("absent", "a/absent/2.txt", "4.txt/2.txt", "way/1.txt", "a"):
        with pytest.raises((OSError, UnreadableFile)):
            read(root / path, root)
    walk = find_files([root])
    next(walk)
    assert open_descriptors() == before


def test_a_folder_too_deep_to_be_stored_is_named_and_left(tmp_path: Path) -> None:
    depth = MAX_FOLDER_BYTES // 200 + 2
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (found,) = find_files([tmp_path])
    assert isinstance(found.error, OSError)
    assert found.error.strerror == "File name too long"
    assert MAX_FOLDER_BYTES < len(str(found.path)) <= 4_096


def test_a_path_that_no_address_holds_is_refused(tmp_path: Path) -> None:
    name = "é" * 100
    folder = tmp_path / name / name / name / name
    folder.mkdir(parents=True)
    (folder / "note.txt").write_text("A text behind many letters that take six each.")
    with pytest.raises(UnreadableFile, match="too long"):
        read(folder / "note.txt", tmp_path)
