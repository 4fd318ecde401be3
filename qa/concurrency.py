"""Limits on concurrent work, and cancellation across threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from functools import cache
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event
from typing import TypeVar

from django.conf import settings
from django.db import connection

from corpus.errors import BackendUnavailable
from qa.types import Citation

# Longest wait for a slot. HTTP admission lets in no more requests than there are slots, but a slot
# may still be held by an answer whose client has just disconnected.
MAX_WAIT_S = 2.0

# Streams opened at once: a burst of clients must leave connections for others.
OPENINGS = 4
_openings = BoundedSemaphore(OPENINGS)


@contextmanager
def opening_slot() -> Iterator[None]:
    """Wait for a slot to open a stream; release the database connection at the end."""
    with _openings:
        try:
            yield
        finally:
            _release_connection()


@contextmanager
def answering_slot() -> Iterator[None]:
    """Wait for one of ``PKB_ANSWER_CONCURRENCY`` slots and hold it.

    An answer holds a database connection, and its models use all cores. Questions over the limit
    wait here without either.

    Raises:
        BackendUnavailable: No slot came within ``MAX_WAIT_S``.
    """
    slots = _slots(settings.PKB_ANSWER_CONCURRENCY)
    if not slots.acquire(blocking=False):
        _release_connection()
        if not slots.acquire(timeout=MAX_WAIT_S):
            raise BackendUnavailable("pkb is busy answering other questions. Try again soon.")
    try:
        yield
    finally:
        slots.release()


def _release_connection() -> None:
    """Release this thread's database connection unless a transaction needs it."""
    if not connection.in_atomic_block:
        connection.close()


@cache
def _slots(count: int) -> BoundedSemaphore:
    return BoundedSemaphore(count)


# Never set: work that started without ``cancellable_context`` cannot be cancelled.
_NEVER = Event()
_cancellation: ContextVar[Event] = ContextVar("cancellation", default=_NEVER)


def cancellable_context() -> tuple[Context, Event]:
    """Return a copy of this context to run work in, and the event that cancels it."""
    is_cancelled, context = Event(), copy_context()
    context.run(_cancellation.set, is_cancelled)
    return context, is_cancelled


def cancellation() -> Event:
    """Return the event that is set once the work of this context is cancelled, in any thread."""
    return _cancellation.get()


class Listener:
    """Receives the progress of one run; this one ignores it."""

    def raise_if_cancelled(self) -> None:
        """Raise if the client has disconnected; called between nodes.

        Raises:
            ClientDisconnected: Nobody waits for the answer any more.
        """

    def on_step(self, step: str) -> None:
        """Receive the node that starts now: ``retrieve``, ``rerank``, ``answer`` or ``cite``."""

    def on_text(self, text: str, citation: Citation) -> None:
        """Receive the next sentence as soon as it is verified, with its citation.

        All texts together are the answer; each but the first begins with a separator.

        Raises:
            ClientDisconnected: Nobody waits for the answer any more.
        """


# The work for a client that disconnected ends within 2 s.
POLL_INTERVAL_S = 0.25

_Result = TypeVar("_Result")
_Progress = TypeVar("_Progress")


def run_with_progress(
    work: Callable[[Callable[[_Progress], None]], _Result],
    *,
    on_progress: Callable[[_Progress], None],
    listener: Listener,
    is_slow: bool,
) -> _Result:
    """Return the result of ``work``; abandon slow work when the listener cancels it.

    Slow work runs in a thread of its own. Once it is cancelled, its result is dropped, a model in
    this process stops soon (``cancellation``), and a server's reply is not read further. ``work``
    must not touch the database.

    Args:
        work: Takes a function that it calls with its progress.
        on_progress: Called in this thread with the newest progress; the last may be skipped, since
            the result contains it.

    Raises:
        ClientDisconnected: By the listener, which is asked four times a second.
    """
    if not is_slow:
        return work(on_progress)
    context, is_cancelled = cancellable_context()
    progress: SimpleQueue[_Progress | None] = SimpleQueue()
    threads = ThreadPoolExecutor(1, thread_name_prefix="language-model")
    future = threads.submit(context.run, work, progress.put)
    future.add_done_callback(lambda done: progress.put(None))
    threads.shutdown(wait=False)
    try:
        while not future.done():
            newest = None
            with suppress(Empty):
                newest = progress.get(timeout=POLL_INTERVAL_S)
                while not progress.empty():
                    newest = progress.get()
            if newest is not None:
                on_progress(newest)
            listener.raise_if_cancelled()
    finally:
        is_cancelled.set()
    return future.result()
