"""One collection at a time, and broken off and gone on with."""

from io import StringIO

import pytest
from django.core.management import call_command

from corpus.invariants import batches
from corpus.models import Document
from pkb.management.commands import verify
from tests.integration.verify import alter, run_verify
from tests.integration.verify.broken import OTHER
from tests.support.commands import refusal, run


class BrokenOff(StringIO):
    """An output that ends the run at its first line, as Ctrl-C or a kill would."""

    def write(self, text: str) -> int:
        raise KeyboardInterrupt


def miscount(document: Document) -> str:
    Document.objects.filter(pk=document.pk).update(char_count=1)
    return f"char_count or word_count of a document is wrong: {document.pk}\n"


@pytest.fixture
def broken_off(stored: None, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Break a run off behind the first document; returns what is wrong with that, and the last."""
    monkeypatch.setattr(batches, "CHUNKS", 1)
    first, *_, last = Document.objects.order_by("pk")
    at_last = miscount(last)
    with pytest.raises(KeyboardInterrupt):
        call_command("verify", stdout=BrokenOff())
    return miscount(first), at_last


def test_a_run_goes_on_where_it_was_broken_off(broken_off: tuple[str, str]) -> None:
    at_first, at_last = broken_off
    assert run_verify("--resume") == (f"{at_last}1 violations\n", 1)
    # It has come to its end: the next one begins anew.
    assert run_verify("--resume") == (f"{at_first}{at_last}2 violations\n", 1)


def test_a_place_is_of_the_same_choice(broken_off: tuple[str, str]) -> None:
    out, _ = run_verify("--resume", "--collection", "default")
    assert out == f"{''.join(broken_off)}2 violations\n"


def test_only_the_collection_that_is_named_is_checked(stored: None) -> None:
    alter(OTHER)
    line = miscount(Document.objects.all()[0])
    assert run_verify("--collection", "other") == ("0 violations\n", 0)
    assert run_verify("--collection", "default") == (f"{line}1 violations\n", 1)


def test_a_collection_that_is_not_there_is_wrong_usage(stored: None) -> None:
    assert refusal("verify", "--collection", "nowhere")[1] == 2


def test_how_far_it_is_is_said_beside_the_results(
    stored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "PROGRESS_S", -1.0)
    out, said, _ = run("verify")
    assert (out, "checked 11 chunks" in said) == ("0 violations\n", True)
