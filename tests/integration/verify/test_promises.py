"""Every promise is broken, by itself, and named."""

import pytest

from corpus.invariants import Verification
from corpus.invariants.portions import SCANS
from corpus.invariants.tables import TABLES
from pkb.management.commands.verify import PROMISES
from tests.integration.verify import alter
from tests.integration.verify.broken import BROKEN


def broken_promises() -> set[str]:
    return {violation.promise for violation in Verification(PROMISES).run()}


def test_nothing_is_broken_before(stored: None) -> None:
    assert broken_promises() == set()


@pytest.mark.parametrize("promise", BROKEN)
def test_what_breaks_a_promise_is_named(promise: str, stored: None) -> None:
    case = BROKEN[promise]
    statements, besides = case if isinstance(case, tuple) else (case, set[str]())
    alter(statements)
    assert broken_promises() == {promise} | besides


def test_no_promise_is_left_untried() -> None:
    told = {promise for scan in SCANS for promise in scan.broken}
    told |= TABLES.keys() | PROMISES.tables.keys() | {each.promise for each in PROMISES.quotes}
    # No statement within a transaction makes an index that is broken.
    assert told - BROKEN.keys() == {"an index is broken"}
