"""Of a path, clients see what is below its root."""

from pathlib import Path
from typing import Any

import pytest

from corpus.roots.shown_paths import root_names, shown_path, shown_uri


@pytest.fixture(autouse=True)
def roots(settings: Any) -> None:
    settings.DATA_DIR = Path("/var/pkb")
    settings.PKB_INGEST_ROOTS = [
        Path("/srv/inbox"), Path("/home/ida/inbox"), Path("/srv/inbox/my letters"), Path("/"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/srv/inbox/a.md", "inbox/a.md"),
        ("/srv/inbox/deep/a.md", "inbox/deep/a.md"),
        ("/home/ida/inbox/a.md", "inbox-2/a.md"),
        ("/srv/inbox/my letters/a.md", "my letters/a.md"),
        ("/srv/inbox", "inbox"),
        ("/var/pkb/uploads/0a1b/a.md", "a.md"),
        ("/srv/inbox-3/a.md", "root/srv/inbox-3/a.md"),
        ("/", "root"),
        ("", ""),
    ],
)
def test_a_path_is_shown_from_its_root_on(path: str, shown: str) -> None:
    assert shown_path(path) == shown


def test_of_a_file_below_no_root_name_and_folder_are_shown(settings: Any) -> None:
    settings.PKB_INGEST_ROOTS = []
    assert shown_path("/home/ida/inbox/index.md") == "inbox/index.md"
    assert shown_uri("file:///home/ida/a%20b.md", file_path="/home/ida/a b.md") == "ida/a%20b.md"


def test_a_number_is_given_to_no_name_that_is_there(settings: Any) -> None:
    settings.PKB_INGEST_ROOTS = [Path("/a/in-2"), Path("/a/in"), Path("/b/in"), Path("/c/in")]
    assert root_names() == {
        "in-2": Path("/a/in-2"), "in": Path("/a/in"), "in-3": Path("/b/in"), "in-4": Path("/c/in"),
    }  # fmt: skip
    assert list(root_names()) == ["in-2", "in", "in-3", "in-4"]


def test_an_address_of_a_file_stays_encoded() -> None:
    path = Path("/srv/inbox/my letters/ü 1.md")
    shown = shown_uri(path.as_uri(), file_path=str(path))
    assert shown == "my%20letters/%C3%BC%201.md"
    assert shown_uri(shown, file_path=str(path)) == shown


def test_an_address_below_the_root_of_all_is_shown_whole() -> None:
    path = Path("/opt/ä/a.md")
    assert shown_uri(path.as_uri(), file_path=str(path)) == "root/opt/%C3%A4/a.md"


@pytest.mark.parametrize(
    ("uri", "file_path"),
    [("file:///srv/inbox/a.md", ""), ("note:1", ""), ("", ""), ("https://a.example/b", "/srv/b")],
)
def test_an_address_that_a_client_gave_is_shown_as_given(uri: str, file_path: str) -> None:
    assert shown_uri(uri, file_path=file_path) == uri
