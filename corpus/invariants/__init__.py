"""Check that what is stored keeps its promises.

``runs.Verification`` goes through all of them, those of the rooms above too; what each is stands in
``portions`` (rows of documents), ``texts``, ``words``, ``tables`` and ``files``.
"""

from collections.abc import Iterator

from corpus.invariants.checks import Violation
from corpus.invariants.runs import Promises, Step, Verification
from corpus.invariants.texts import Quotes

__all__ = ["Promises", "Quotes", "Step", "Verification", "Violation", "find_violations"]


def find_violations() -> Iterator[str]:
    """Yield a line for each broken promise of the corpus: what is wrong, and where."""
    yield from map(str, Verification(Promises()).run())
