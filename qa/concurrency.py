"""Bound how many questions are answered at once in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import BoundedSemaphore

from django.conf import settings
from django.db import connection

from corpus.errors import BackendUnavailable

# Longer than this nobody waits for a slot. Over HTTP admission has let in no more than there are;
# one is missing where somebody left whose answer is not given up yet.
MAX_WAIT_S = 2.0

# Streams that are opened at once: a burst of clients must leave connections to others.
OPENINGS = 4
_openings = BoundedSemaphore(OPENINGS)


@contextmanager
def opening_slot() -> Iterator[None]:
    """Wait for a slot to open a stream; the connection it took goes back at its end."""
    with _openings:
        try:
            yield
        finally:
            _give_back_connection()


@contextmanager
def answering_slot() -> Iterator[None]:
    """Wait for one of ``PKB_ANSWER_CONCURRENCY`` slots and hold it.

    Every answer holds a database connection, and its models take all cores; what is over the
    bound waits here without either.

    Raises:
        BackendUnavailable: No slot came within ``MAX_WAIT_S``.
    """
    slots = _slots(settings.PKB_ANSWER_CONCURRENCY)
    if not slots.acquire(blocking=False):
        _give_back_connection()
        if not slots.acquire(timeout=MAX_WAIT_S):
            raise BackendUnavailable("Too many questions are being answered; ask again soon.")
    try:
        yield
    finally:
        slots.release()


def _give_back_connection() -> None:
    """Return this thread's database connection to the pool, unless a transaction needs it."""
    if not connection.in_atomic_block:
        connection.close()


@cache
def _slots(count: int) -> BoundedSemaphore:
    return BoundedSemaphore(count)
