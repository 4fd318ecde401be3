"""Pages lead to what is there: links, their headings, and the pages that code and messages name."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
ROOMS = ("accounts", "benchmarks", "corpus", "evaluation", "pipelines", "pkb", "qa", "web")
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)")
NAMED = re.compile(r"\bdocs/(?:decisions/\d{4}|[\w/-]+\.md)\b")


def anchors(page: Path) -> set[str]:
    """Of the headings of `page`, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{page.relative_to(ROOT)}: {path}#{anchor}"


def test_every_link_leads_to_a_file_and_its_heading() -> None:
    assert len(PAGES) > 60
    assert [link for page in PAGES for link in broken(page)] == []


def test_every_page_that_code_and_messages_name_is_there() -> None:
    files = [*PAGES, ROOT / ".env.example"]
    for room in ROOMS:
        files += [path for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".html"}]
    files += [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    named = {name for path in files for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert [name for name in named if not [*ROOT.glob(f"{name}*")]] == []


def test_the_index_of_operations_names_each_of_its_pages() -> None:
    folder = ROOT / "docs" / "operations"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in folder.glob("*.md")} - {"README.md"}
    assert [name for name in pages if f"]({name})" not in index] == []
