"""Files that include others, of their own tree and of no other."""

from pathlib import Path

import pytest

from corpus.errors import TooLarge
from corpus.ingestion import includes
from corpus.ingestion.file_scan import FileContent
from corpus.ingestion.includes import read_with_includes

SECRET = "A secret that stands outside of the root."


def fence(name: str, *options: str) -> str:
    return "\n".join([f"```{{include}} {name}", *options, "```"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.md").write_text(SECRET)
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (root / ".hidden.md").write_text(SECRET)
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    (root / "part.md").write_text("---\ntitle: Part\n---\nWords of\na part.\n")
    return root


def whole(root: Path, name: str, text: str, *, max_bytes: int = 10_000) -> FileContent:
    (root / name).write_text(text)
    return read_with_includes(root / name, root=root, max_bytes=max_bytes)


def text_of(root: Path, name: str, text: str, *, max_bytes: int = 10_000) -> str:
    return whole(root, name, text, max_bytes=max_bytes).content.decode()


def test_markdown_and_rest_hold_what_they_include(root: Path) -> None:
    (root / "deep" / "inner.md").write_text(f"Above.\n\n{fence('../part.md')}\n")
    said = f"# One\n\n{fence('deep/inner.md')}\n\nEnd."
    assert text_of(root, "a.md", said) == "# One\n\nAbove.\n\nWords of\na part.\n\nEnd."
    said = "One\n===\n\n.. include:: part.md\n   :end-before: a part\n\nEnd."
    assert text_of(root, "a.rst", said) == "One\n===\n\nWords of\n\nEnd."


def test_a_part_of_a_file_is_included(root: Path) -> None:
    (root / "lines.md").write_text("one\ntwo\nthree\nfour\n")
    lines = fence("lines.md", ":start-line: 1", ":end-line: 3")
    assert text_of(root, "a.md", lines) == "two\nthree"
    words = fence("lines.md", ":start-after: one", ":end-before: four")
    assert text_of(root, "a.md", words) == "two\nthree"


@pytest.mark.parametrize(
    "name",
    ["../secret.md", "deep/../../secret.md", "link.md", ".hidden.md", "/etc/hosts", "<isonum.txt>",
     "~/a.md", "https://example.org/a.md", "none.md", "deep", "a\0b.md", "a.md"],
)  # fmt: skip
def test_nothing_from_outside_of_the_tree_is_included(root: Path, name: str) -> None:
    file = whole(root, "a.md", fence(name))
    assert file.content.decode() == fence(name)
    assert file.includes == {}


def test_what_is_only_shown_is_not_included(root: Path) -> None:
    shown = f"````md\n{fence('part.md')}\n````"
    assert text_of(root, "a.md", shown) == shown
    literal = fence("part.md", ":literal:")
    assert text_of(root, "a.md", literal) == literal
    example = "Example::\n\n   .. include:: part.md\n"
    assert text_of(root, "a.rst", example) == example
    assert text_of(root, "a.txt", fence("part.md")) == fence("part.md")


def test_files_that_include_each_other_end(root: Path) -> None:
    (root / "b.md").write_text(f"b\n{fence('a.md')}")
    assert text_of(root, "a.md", f"a\n{fence('b.md')}") == f"a\nb\n{fence('a.md')}"


def test_includes_are_bounded_in_depth_number_and_size(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (root / f"{number}.md").write_text(fence(f"{number + 1}.md"))
    assert fence(f"{includes.MAX_DEPTH}.md") == text_of(root, "a.md", fence("0.md"))
    many = "\n".join([fence("part.md")] * 9)
    assert text_of(root, "a.md", many, max_bytes=300).count("Words of") < 9
    monkeypatch.setattr(includes, "MAX_INCLUDES", 5)
    assert text_of(root, "a.md", many).count("Words of") == 5
    with pytest.raises(TooLarge):
        whole(root, "a.md", many, max_bytes=100)


def test_a_change_of_an_included_file_is_one_of_the_file(root: Path) -> None:
    before = whole(root, "a.md", fence("part.md"))
    assert list(before.includes) == ["part.md"]
    assert whole(root, "a.md", fence("part.md")).file_hash == before.file_hash
    (root / "part.md").write_text("Other words.")
    changed = whole(root, "a.md", fence("part.md")).file_hash
    (root / "part.md").unlink()
    gone = whole(root, "a.md", fence("part.md")).file_hash
    assert len({before.file_hash, changed, gone}) == 3


def test_bytes_that_are_no_text_are_left_to_their_loader(root: Path) -> None:
    (root / "a.md").write_bytes(b"include\x00\xff\xfe\x00\x01")
    assert read_with_includes(root / "a.md", root=root, max_bytes=99).content.startswith(b"include")
