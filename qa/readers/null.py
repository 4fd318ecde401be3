"""The reader that reads nothing."""

from collections.abc import Sequence

from qa.types import Reading


class NullReader:
    """Find no text likelier to answer than another, and no part of any that does."""

    name = "none"
    is_loaded = True

    def load(self) -> None:
        """Do nothing: there are no weights."""

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """Return for each text a score of 0 and an empty span."""
        return [Reading(score=0.0, start=0, end=0, margin=0.0)] * len(texts)
