"""Check the invariants of the stored data.

``run_checks`` checks them all, also those of other apps and of files. They are defined in
``batches`` (rows of documents), ``texts``, ``count_checks`` and ``table_checks``; ``repair`` mends
what it can.
"""

from corpus.invariants.run_checks import Invariants, Step, check_in_steps, find_violations
from corpus.invariants.texts import Quotes
from corpus.invariants.violations import Violation

__all__ = ["Invariants", "Quotes", "Step", "Violation", "check_in_steps", "find_violations"]
