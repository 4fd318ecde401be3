"""Pages lead to what is there: links, headings, modules, settings, commands and their options."""

import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from pkb.env import Env

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "clients").rglob("*.md")]
PAGES += [ROOT / "benchmarks" / "README.md", *(ROOT / "benchmarks" / "results").glob("*.md")]
ROOMS = ("accounts", "benchmarks", "corpus", "evaluation", "pipelines", "pkb", "qa", "web")
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)")
NAMED = re.compile(r"\b(?:docs/(?:decisions/\d{4}|[\w/-]+\.md)|benchmarks/results/[\w-]+\.md)\b")

DECISION = ["Context", "Decision", "Alternatives", "Consequences", "Results"]

# What has been stays as it was called.
OF_TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"]
CODE = re.compile(r"```\w*\n(.*?)```|`([^`]+)`", re.DOTALL)
COMMAND = re.compile(r"manage\.py (\w+)([^\n|#;&`]*)")


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
    files = [page for page in PAGES if page.name != "CHANGELOG.md"] + [ROOT / ".env.example"]
    for room in ROOMS:
        files += [path for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".html"}]
    files += [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    named = {name for path in files for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert [name for name in named if not [*ROOT.glob(f"{name}*")]] == []


class MenuLoader(yaml.SafeLoader):
    """Read mkdocs.yml without the functions of Python that it names."""


MenuLoader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def pages_of(menu: Any) -> Iterator[str]:
    if isinstance(menu, str):
        yield menu
    else:
        for each in menu.values() if isinstance(menu, dict) else menu:
            yield from pages_of(each)


def test_the_menu_of_the_site_has_each_page_once() -> None:
    site = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=MenuLoader)  # noqa: S506
    folder = ROOT / "docs"
    pages = sorted(str(page.relative_to(folder)) for page in folder.rglob("*.md"))
    assert sorted(pages_of(site["nav"])) == pages


def test_no_page_of_the_site_leads_out_of_its_folder() -> None:
    folder = ROOT / "docs"
    leaving = [
        (str(page.relative_to(ROOT)), path)
        for page in folder.rglob("*.md")
        for path, _ in LINK.findall(page.read_text(encoding="utf-8"))
        if path and not (page.parent / path).resolve().is_relative_to(folder)
    ]
    assert leaving == []


def test_each_index_names_its_pages_or_scripts() -> None:
    folder = ROOT / "docs"
    index = (folder / "index.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(folder)) for page in folder.rglob("*.md")}
    pages -= {name for name in pages if name.startswith("decisions/0")} | {"index.md"}
    assert [name for name in pages if f"]({name})" not in index] == []
    folder = ROOT / "benchmarks"
    index = (folder / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+\.py)\b", index)) - {"manage.py"}
    assert named == {script.name for script in folder.glob("*.py")}


def test_decisions_are_few_short_and_of_one_form() -> None:
    folder = ROOT / "docs" / "decisions"
    texts = {page: page.read_text(encoding="utf-8") for page in folder.glob("0*.md")}
    assert 0 < len(texts) <= 25
    assert [page.name for page, text in texts.items() if len(text.split()) > 250] == []
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in texts if f"]({page.name})" not in index] == []
    for page, text in texts.items():
        number = int(page.name[:4])
        assert text.startswith(f"# {number}. "), page.name
        assert "\n**Status:** " in text, page.name
        assert re.findall(r"^## (.+)$", text, re.M) == DECISION, page.name


def test_the_pages_of_figures_are_short() -> None:
    most = {"evaluation.md": 1_200, "performance.md": 1_200, "reliability.md": 1_000}
    for name, words in most.items():
        assert len((ROOT / "docs" / name).read_text(encoding="utf-8").split()) <= words, name


def test_every_result_names_its_date_machine_and_command() -> None:
    folder = ROOT / "benchmarks" / "results"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}
    del pages["README.md"]
    assert [name for name in pages if f"]({name})" not in index] == []
    for name, text in pages.items():
        missing = [word for word in ("Date: ", "Machine: ", "Command: `") if word not in text]
        assert missing == [], name


@pytest.mark.parametrize(
    ("page", "least"), [("docs/explanation/architecture.md", 40), ("CONTRIBUTING.md", 5)]
)
def test_modules_that_a_page_names_exist(page: str, least: int) -> None:
    names = set(re.findall(r"`([\w/]+\.py)`", (ROOT / page).read_text(encoding="utf-8")))
    assert len(names) >= least
    modules = [
        f"/{path.relative_to(ROOT)}"
        for folder in (*ROOMS, "clients", "tests")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert [name for name in names if not any(path.endswith(f"/{name}") for path in modules)] == []


def test_every_setting_that_a_page_names_is_one() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in OF_TODAY)
    named = set(re.findall(r"\bPKB_[A-Z_]*[A-Z]\b", text))
    assert len(named) > 60
    assert [name for name in named if name not in Env.model_fields] == []


def shown_commands() -> Iterator[tuple[str, str]]:
    """Each command that a page shows, and what is given to it."""
    for page in OF_TODAY:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for block, inline in CODE.findall(text):
            yield from COMMAND.findall(block or " ".join(inline.split()))


@cache
def options(name: str) -> frozenset[str]:
    """All that a command of ours, of Django or of a package takes, its sub-commands' too."""
    command = load_command_class(get_commands()[name], name)
    return frozenset(_options(command.create_parser("manage.py", name)))


def _options(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, _SubParsersAction):
            for each in action.choices.values():
                yield from _options(each)


def test_every_command_that_a_page_shows_is_there_with_its_options() -> None:
    shown = set(shown_commands())
    assert len(shown) > 60
    assert {name for name, _ in shown if name not in get_commands()} == set()
    given = [
        (name, option) for name, rest in shown for option in re.findall(r"(?<![\w-])--[\w-]+", rest)
    ]
    assert [each for each in given if each[1] not in options(each[0])] == []
