"""Status of the standby, read with a timeout."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock, Thread
from typing import NamedTuple

from django.conf import settings
from django.db import connections

from corpus.postgres.snapshot import count_reads
from corpus.postgres.standby import (
    REPLICA,
    Position,
    Reason,
    StandbyState,
    check_standby,
    pause_reason,
)

# Connecting takes at most half a second (pkb/databases.py).
TIMEOUT_S = 1.0
# If the host answers but the server hangs, a query can block forever: it blocks one thread, which
# nothing waits for.
_one_query = Lock()
_NO_RESPONSE = StandbyState(Reason.UNREACHABLE)


class Fallback(NamedTuple):
    reason: Reason
    read_count: int


@dataclass(frozen=True, slots=True)
class Standby:
    """Status of the standby, and this process's reads from it.

    Attributes:
        standing: Replication state; None if the primary is unavailable, so nothing can be compared.
        paused: Reason why searches do not use the standby for a moment; None if they do.
        reads: Number of reads since this process started, by the reason for using the primary;
            the key None counts reads from the standby.
    """

    standing: StandbyState | None
    paused: Reason | None
    reads: Mapping[Reason | None, int]

    @property
    def reason(self) -> Reason | None:
        """Reason why the primary is read instead, if known."""
        return self.paused or (self.standing.reason if self.standing else None)

    @property
    def is_used(self) -> bool:
        """Return whether a search would use the standby now."""
        return self.standing is not None and self.reason is None

    @property
    def read_count(self) -> int:
        """Number of reads from the standby."""
        return self.reads.get(None, 0)

    @property
    def fallbacks(self) -> list[Fallback]:
        """Number of reads from the primary instead, by reason."""
        return [Fallback(why, count) for why, count in self.reads.items() if why is not None]


def read_standby(needed: Position | None) -> Standby | None:
    """Return the status of the standby; None if ``PKB_REPLICA_URL`` is unset.

    Args:
        needed: Log position of the primary; None if it is unavailable.
    """
    if REPLICA not in connections:
        return None
    standing = None if needed is None else _query_with_timeout(needed)
    return Standby(standing, pause_reason(), count_reads())


def _query_with_timeout(needed: Position) -> StandbyState:
    if not _one_query.acquire(timeout=TIMEOUT_S):
        return _NO_RESPONSE
    states: list[StandbyState] = []

    def query() -> None:
        with ExitStack() as cleanup:
            cleanup.callback(_one_query.release)
            cleanup.callback(connections[REPLICA].close)
            states.append(check_standby(needed))

    thread = Thread(target=query, daemon=True)
    thread.start()
    thread.join(TIMEOUT_S + settings.PKB_REPLICA_WAIT_MS / 1000)
    return states[0] if states else _NO_RESPONSE
