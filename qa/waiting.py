"""Wait for a language model as long as somebody waits for its answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from qa.ports import Listener, Silent

# Of the 2 s within which the work for a client that left ends.
LOOK_EVERY_S = 0.25

_Found = TypeVar("_Found")


def wait_for(work: Callable[[], _Found], *, listener: Listener, is_slow: bool) -> _Found:
    """Return what ``work`` returns; slow work that nobody waits for any more is left to itself.

    A call to a language model cannot be broken off; it ends by its own deadline, in a thread of
    its own, and what it says is dropped. ``work`` must not touch the database.

    Raises:
        AskerLeft: By the listener, which is asked four times a second.
    """
    if not is_slow or isinstance(listener, Silent):
        return work()
    threads = ThreadPoolExecutor(1, thread_name_prefix="language-model")
    future = threads.submit(copy_context().run, work)
    threads.shutdown(wait=False)
    while not wait([future], LOOK_EVERY_S).done:
        listener.check()
    return future.result()
