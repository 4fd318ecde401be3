"""Check that what is stored keeps its invariants.

``runs.Verification`` goes through all of them, those of the rooms above too; what each is stands in
``portions`` (rows of documents), ``texts``, ``words``, ``tables`` and ``files``.
"""

from collections.abc import Iterator

from corpus.invariants.checks import Violation
from corpus.invariants.runs import Invariants, Step, Verification
from corpus.invariants.texts import Quotes

__all__ = ["Invariants", "Quotes", "Step", "Verification", "Violation", "find_violations"]


def find_violations() -> Iterator[str]:
    """Yield a line for each broken invariant of the corpus: what is wrong, and where."""
    yield from map(str, Verification(Invariants()).run())
