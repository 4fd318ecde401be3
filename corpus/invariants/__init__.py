"""Check the invariants of the stored data.

``run_checks.Verification`` checks them all, also those of other apps and of files. They are defined
in ``batches`` (rows of documents), ``texts``, ``count_checks`` and ``table_checks``; ``repair``
mends what it can.
"""

from collections.abc import Iterator

from corpus.invariants.run_checks import Invariants, Step, Verification
from corpus.invariants.texts import Quotes
from corpus.invariants.violations import Violation

__all__ = ["Invariants", "Quotes", "Step", "Verification", "Violation", "find_violations"]


def find_violations() -> Iterator[str]:
    """Yield a line for each violation in the corpus."""
    yield from map(str, Verification(Invariants()).run())
