"""Tell slow work, in whatever thread it runs, that nobody waits for it any more."""

from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from threading import Event

_asker_left: ContextVar[Event | None] = ContextVar("asker_left", default=None)


def abandonable_context() -> tuple[Context, Event]:
    """Return a copy of this context to run work in, and what to set when its asker leaves."""
    asker_left, context = Event(), copy_context()
    context.run(_asker_left.set, asker_left)
    return context, asker_left


def tells_asker_left() -> Callable[[], bool]:
    """Return what says, from any thread, whether this context's work is for nobody any more."""
    asker_left = _asker_left.get()
    return asker_left.is_set if asker_left else _somebody_waits


def _somebody_waits() -> bool:
    return False
