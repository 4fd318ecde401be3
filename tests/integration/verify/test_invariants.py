"""Every invariant is broken, by itself, and named."""

import pytest

from corpus.invariants import find_violations
from corpus.invariants.batches import SCANS
from corpus.invariants.table_checks import TABLES
from pkb.management.commands.verify import INVARIANTS
from tests.integration.verify import alter
from tests.integration.verify.broken import BROKEN


def broken_invariants() -> set[str]:
    return {violation.invariant for violation in find_violations(INVARIANTS)}


def test_nothing_is_broken_before(stored: None) -> None:
    assert broken_invariants() == set()


@pytest.mark.parametrize("invariant", BROKEN)
def test_what_breaks_a_promise_is_named(invariant: str, stored: None) -> None:
    case = BROKEN[invariant]
    statements, besides = case if isinstance(case, tuple) else (case, set[str]())
    alter(statements)
    assert broken_invariants() == {invariant} | besides


def test_no_promise_is_left_untried() -> None:
    told = {invariant for scan in SCANS for invariant in scan.broken}
    told |= (
        TABLES.keys() | INVARIANTS.tables.keys() | {each.invariant for each in INVARIANTS.quotes}
    )
    # No statement within a transaction makes an index that is broken.
    assert told - BROKEN.keys() == {"an index is broken"}
