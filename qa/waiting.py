"""Wait for a language model as long as somebody waits for its answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from corpus.errors import AskerLeft
from qa.abandoning import abandonable_context
from qa.ports import Listener, Silent

# Of the 2 s within which the work for a client that left ends.
LOOK_EVERY_S = 0.25

_Found = TypeVar("_Found")


def wait_for(work: Callable[[], _Found], *, listener: Listener, is_slow: bool) -> _Found:
    """Return what ``work`` returns; slow work that nobody waits for any more is left to itself.

    It runs in a thread of its own, and what it says is dropped. A model in this process stops
    soon (``qa.abandoning``); a server's reply that was asked for comes, or its deadline, and
    nothing more is asked. ``work`` must not touch the database.

    Raises:
        AskerLeft: By the listener, which is asked four times a second.
    """
    if not is_slow or isinstance(listener, Silent):
        return work()
    context, asker_left = abandonable_context()
    threads = ThreadPoolExecutor(1, thread_name_prefix="language-model")
    future = threads.submit(context.run, work)
    threads.shutdown(wait=False)
    try:
        while not wait([future], LOOK_EVERY_S).done:
            listener.check()
    except AskerLeft:
        asker_left.set()
        raise
    return future.result()
