"""A round of each family of faults, and what a round finds; see ``scripts/faults``."""

from random import Random

import pytest

from tests.campaign.families import FAMILIES
from tests.campaign.ledger import ABSENT, Ledger, find_mark, new_text
from tests.campaign.tally import Tally, run_family

SEED = 1


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_round_of_each_family_of_faults_loses_nothing(name: str) -> None:
    if reason := FAMILIES[name].why_not():
        pytest.skip(reason)
    tally = Tally()
    run_family(name, [SEED], tally)
    assert (tally.failed, tally.lost) == ([], 0)


def test_a_text_is_known_by_its_mark_as_long_as_it_is_whole() -> None:
    text, mark = new_text(Random(SEED), words=100)  # noqa: S311
    assert find_mark(text) == mark
    assert find_mark(text[: len(text) // 2]) != mark
    assert new_text(Random(SEED), words=100) == (text, mark)  # noqa: S311


@pytest.mark.parametrize(
    ("status", "stored", "is_right"),
    [
        (201, "second", True),
        (201, "first", False),
        (201, ABSENT, False),
        (422, "first", True),
        (422, "second", False),
        (503, "first", True),
        (None, "second", True),
        (None, ABSENT, False),
    ],
)
def test_what_was_acknowledged_must_be_there_and_what_was_not_may_be(
    status: int | None, stored: str, is_right: bool
) -> None:
    ledger = Ledger()
    for mark, told in (("first", 201), ("second", status)):
        ledger.ask("note:1", mark)
        ledger.settle("note:1", mark, told)
    found = {"note:1": stored} if stored else {}
    assert (ledger.compare(found) == []) is is_right


def test_what_was_deleted_must_not_be_there() -> None:
    ledger = Ledger()
    ledger.ask("note:1", "first")
    ledger.settle("note:1", "first", 201)
    ledger.ask("note:1", ABSENT)
    ledger.settle("note:1", ABSENT, 204)
    assert ledger.gone == ["first"]
    assert ledger.compare({"note:1": "first"}) == [
        "note:1: nothing acknowledged, first there",
    ]
