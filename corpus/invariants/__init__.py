"""Check the invariants of the stored data.

``runs.Verification`` checks them all, also those of other apps. They are defined in ``batches``
(rows of documents), ``texts``, ``words``, ``tables`` and ``files``.
"""

from collections.abc import Iterator

from corpus.invariants.run_checks import Invariants, Step, Verification
from corpus.invariants.texts import Quotes
from corpus.invariants.violations import Violation

__all__ = ["Invariants", "Quotes", "Step", "Verification", "Violation", "find_violations"]


def find_violations() -> Iterator[str]:
    """Yield a line for each violation in the corpus."""
    yield from map(str, Verification(Invariants()).run())
