"""How the standby is, asked so that nobody waits for one that hangs."""

from collections.abc import Mapping
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass
from threading import Lock, Thread
from typing import NamedTuple

from django.conf import settings
from django.db import connections

from corpus.postgres.snapshot import count_reads, pause_reason
from corpus.postgres.standby import REPLICA, Position, Reason, StandbyState, check_standby

# To connect takes the pool of a standby half a second at most (pkb/databases.py).
LOOK_S = 1.0
# A server whose host answers for it, and that does not, holds who asks it for as long as it likes:
# it holds one thread, which is not waited for.
_looking = Lock()
_HANGS = StandbyState(Reason.UNREACHABLE, "It does not answer.")


class Fallback(NamedTuple):
    reason: Reason
    read_count: int


@dataclass(frozen=True, slots=True)
class Standby:
    """What is known of the standby, and what this process has read of it.

    Attributes:
        standing: None where the primary is away, and there is nothing to compare it with.
        paused: Why searches do not ask it for a moment; None: they do.
        reads: How often evidence was read since this process began, by why not from the standby;
            None counts what was read from it.
    """

    standing: StandbyState | None
    paused: Reason | None
    reads: Mapping[Reason | None, int]

    @property
    def reason(self) -> Reason | None:
        """Why the primary is read in its place, if that is known."""
        return self.paused or (self.standing.reason if self.standing else None)

    @property
    def is_used(self) -> bool:
        """Tell whether a search would read it now."""
        return self.standing is not None and self.reason is None

    @property
    def read_count(self) -> int:
        """How often evidence was read from it."""
        return self.reads.get(None, 0)

    @property
    def fallbacks(self) -> list["Fallback"]:
        """How often the primary was read in its place, by why."""
        return [Fallback(why, count) for why, count in self.reads.items() if why is not None]


def read_standby(needed: Position | None) -> Standby | None:
    """Return how the standby is; None where ``PKB_REPLICA_URL`` names none.

    Args:
        needed: Where the primary is; None: it is away.
    """
    if REPLICA not in connections:
        return None
    standing = None if needed is None else _ask_in_time(needed)
    return Standby(standing, pause_reason(), count_reads())


def _ask_in_time(needed: Position) -> StandbyState:
    if not _looking.acquire(timeout=LOOK_S):
        return _HANGS
    found: list[StandbyState] = []
    thread = Thread(target=copy_context().run, args=(_ask, needed, found), daemon=True)
    thread.start()
    thread.join(LOOK_S + settings.PKB_REPLICA_WAIT_MS / 1000)
    return found[0] if found else _HANGS


def _ask(needed: Position, found: list[StandbyState]) -> None:
    with ExitStack() as ended:
        ended.callback(_looking.release)
        ended.callback(connections[REPLICA].close)
        found.append(check_standby(needed))
