"""Which files of a folder are wanted."""

from collections import Counter
from pathlib import PurePath

import pytest

from corpus.file_selection import (
    MAX_KINDS,
    Selection,
    count_kinds,
    file_kind,
    skipped_message,
)


@pytest.mark.parametrize(
    ("include", "exclude", "path", "is_wanted"),
    [
        ((), (), "guide/start.md", True),
        ((), (), "img/logo.svg", False),
        ((), (), "THEME.CSS", False),
        ((), (), "package-lock.json", False),
        (("*.svg",), (), "img/logo.svg", True),
        (("*.svg",), (), "guide/start.md", False),
        (("guide/*",), (), "guide/deep/start.md", True),
        (("*.md", "*.txt"), (), "a.txt", True),
        (("*.md",), ("draft-*",), "deep/draft-1.md", False),
        ((), ("drafts/*",), "drafts/a.md", False),
        ((), ("drafts/*",), "old-drafts/a.md", True),
        ((), ("*.PDF",), "a.pdf", False),
    ],
)
def test_a_file_is_wanted_by_its_path_or_name(
    include: tuple[str, ...], exclude: tuple[str, ...], path: str, is_wanted: bool
) -> None:
    assert Selection(include, exclude).takes(PurePath(path)) is is_wanted


@pytest.mark.parametrize(
    ("exclude", "path", "is_entered"),
    [
        ((), "guide", True),
        ((), "site/node_modules", False),
        ((), "pkb.egg-info", False),
        (("drafts",), "guide/drafts", False),
        (("guide/drafts",), "guide/drafts", False),
        (("guide/drafts",), "other/drafts", True),
    ],
)
def test_a_folder_is_passed_over_with_all_that_is_in_it(
    exclude: tuple[str, ...], path: str, is_entered: bool
) -> None:
    assert Selection((), exclude).enters(PurePath(path)) is is_entered
    assert Selection(("*.md",), exclude).enters(PurePath(path)) is is_entered


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a/LOGO.PNG", "png"),
        ("a/archive.tar.gz", "gz"),
        ("a/Makefile", "Makefile"),
        ("a/notes of 3.november evening", "notes of 3.november evening"),
        ("a/trailing.", "trailing."),
    ],
)
def test_what_is_passed_over_is_called_by_its_ending_or_name(path: str, kind: str) -> None:
    assert file_kind(PurePath(path)) == kind
    assert file_kind(PurePath("a/node_modules"), is_folder=True) == "node_modules/"


def test_kinds_are_told_most_frequent_first_and_rare_ones_together() -> None:
    skipped = Counter(png=5, gz=2, Makefile=1)
    assert skipped_message(count_kinds(skipped)) == "8 skipped (png 5, gz 2, Makefile 1)"
    assert skipped_message({}) == ""
    many = Counter({f"kind{number}": 2 for number in range(MAX_KINDS)} | {"a": 1, "b": 1})
    told = count_kinds(many)
    assert (len(told), told["other"]) == (MAX_KINDS + 1, 2)
