"""Bound slow work, and stop it, in whatever thread it runs, when nobody waits for it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cache
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event
from typing import Protocol, TypeVar

from django.conf import settings
from django.db import connection

from corpus.errors import BackendUnavailable
from qa.types import Citation

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


# Nobody leaves work that was begun without ``abandonable_context``: it is never set.
_NEVER = Event()
_asker_left: ContextVar[Event] = ContextVar("asker_left", default=_NEVER)


def abandonable_context() -> tuple[Context, Event]:
    """Return a copy of this context to run work in, and what to set when its asker leaves."""
    has_left, context = Event(), copy_context()
    context.run(_asker_left.set, has_left)
    return context, has_left


def asker_left() -> Event:
    """Return what is set, whatever thread looks, once this context's work is for nobody."""
    return _asker_left.get()


class Listener(Protocol):
    """Follows one run."""

    def check(self) -> None:
        """Called between nodes.

        Raises:
            AskerLeft: Nobody waits for the answer any more.
        """
        ...

    def begin(self, step: str) -> None:
        """Hear which node begins now: ``retrieve``, ``rerank``, ``answer`` or ``cite``."""
        ...

    def say(self, text: str, citation: Citation) -> None:
        """Take the next sentence, as soon as it is proved, with its proof.

        All texts together are the answer: a separator stands before each but the first.

        Raises:
            AskerLeft: Nobody waits for the answer any more.
        """
        ...


class Silent:
    """A listener for those who wait for the whole answer."""

    def check(self) -> None:
        """Go on."""

    def begin(self, step: str) -> None:
        """It is not told."""

    def say(self, text: str, citation: Citation) -> None:
        """Keep it for the end."""


# Of the 2 s within which the work for a client that left ends.
LOOK_EVERY_S = 0.25

_Found = TypeVar("_Found")
_Told = TypeVar("_Told")


def wait_for(work: Callable[[], _Found], *, listener: Listener, is_slow: bool) -> _Found:
    """Return what ``work`` returns; as ``follow``, of work that tells nothing meanwhile."""

    def work_silently(tell: Callable[[object], None]) -> _Found:
        return work()

    return follow(work_silently, hear=lambda told: None, listener=listener, is_slow=is_slow)


def follow(
    work: Callable[[Callable[[_Told], None]], _Found],
    *,
    hear: Callable[[_Told], None],
    listener: Listener,
    is_slow: bool,
) -> _Found:
    """Return what ``work`` returns; slow work that nobody waits for any more is left to itself.

    It runs in a thread of its own, and what it says is dropped. A model in this process stops
    soon (``asker_left``); a server's reply is not read on, and nothing more is asked. ``work``
    must not touch the database.

    Args:
        work: Is given what to call with how far it is.
        hear: Called in this thread, with the newest of what was told since; the last may be
            left out, since what is returned has all.

    Raises:
        AskerLeft: By the listener, which is asked four times a second.
    """
    if not is_slow:
        return work(hear)
    context, has_left = abandonable_context()
    told: SimpleQueue[_Told | None] = SimpleQueue()
    threads = ThreadPoolExecutor(1, thread_name_prefix="language-model")
    future = threads.submit(context.run, work, told.put)
    future.add_done_callback(lambda done: told.put(None))
    threads.shutdown(wait=False)
    try:
        while not future.done():
            newest = _take_newest(told)
            if newest is not None:
                hear(newest)
            listener.check()
    finally:
        has_left.set()
    return future.result()


def _take_newest(told: "SimpleQueue[_Told | None]") -> _Told | None:
    """Wait a moment for what is told, and return the newest of it."""
    try:
        newest = told.get(timeout=LOOK_EVERY_S)
        while not told.empty():
            newest = told.get()
    except Empty:
        return None
    return newest
