"""The words that a file's path adds to a title."""

import pytest

from corpus.loaders.metadata import full_title, ranked_text, words_of_path


@pytest.mark.parametrize(
    ("path", "title", "words"),
    [
        ("acme-leave.md", "Taking leave", "acme"),
        ("AcmeLeavePolicy2024.pdf", "Leave", "Acme Policy 2024"),
        ("2020-01-30 TAC minutes.md", "Minutes", "2020 TAC"),
        ("acme-acme.md", "", "acme"),
        ("acme/HR/policies/acme-leave.md", "Policies: taking leave", "acme HR"),
        ("财务报告.pdf", "", "财务报告"),
        ("index.html", "Home", ""),
        ("a3f9c2d1e-17.txt", "Notes", ""),
        ("", "Notes", ""),
        ("x" * 3 + " " + "y" * 300, "", f"xxx {'y' * 196}"),
    ],
    ids=["kebab", "camel", "year", "twice", "folders", "chinese", "generic", "hash", "none", "x"],
)
def test_words_of_a_path_that_the_title_lacks(path: str, title: str, words: str) -> None:
    assert words_of_path(path, title=title) == words


def test_a_full_title_begins_with_them() -> None:
    assert full_title("Taking leave", file_words="acme") == "acme: Taking leave"
    assert full_title("", file_words="acme") == "acme"
    assert full_title("Taking leave", file_words="") == "Taking leave"


def test_a_ranked_text_has_them_before_it() -> None:
    lead = {"title": "Taking leave", "file_words": "acme"}
    assert ranked_text("Ask first.", **lead) == "acme: Taking leave\nAsk first."
    assert ranked_text("Ask first.", title="", file_words="") == "Ask first."
