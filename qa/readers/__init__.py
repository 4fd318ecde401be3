"""The port through which texts are read for the answer to a question; one adapter a file."""

from collections.abc import Sequence
from typing import Protocol, cast

from django.conf import settings

from corpus.backends import BackendRegistry, Model
from qa.types import Reading

readers = BackendRegistry("PKB_READERS")


class Reader(Model, Protocol):
    """Tells whether texts answer a question, and which part of each does."""

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        """Return a reading for each text, which depends on the question and that text alone.

        Args:
            leads: What stands before each text and is no part of it: its title, its headings.
        """
        ...


def get_reader() -> Reader:
    """Return the reader that ``PKB_READER`` names."""
    return cast("Reader", readers[settings.PKB_READER_MODEL])
