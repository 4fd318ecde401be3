"""Read in one snapshot, from a replica if it has everything that the primary has acknowledged.

Meanwhile ``connection`` is the replica's, so that the ORM and plain SQL use it; later statements
on the same rows run on the primary (docs/decisions/0045).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import structlog
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    connection,
    connections,
    transaction,
)
from psycopg import IsolationLevel
from psycopg.errors import QueryCanceled

from corpus.postgres.standby import (
    REPLICA,
    Position,
    Reason,
    check_standby,
    classify_error,
    read_position,
)


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Run all statements in one snapshot, as of the first of them; in a transaction do nothing.

    Call no models in here: Postgres cannot remove deleted rows while the snapshot is open.
    """
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    opened: Any = connection.connection
    usual = opened.isolation_level
    # psycopg sends it with BEGIN, before any statement.
    opened.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with transaction.atomic():
            yield
    finally:
        if not opened.closed:
            opened.isolation_level = usual


log = structlog.get_logger(__name__)
Evidence = TypeVar("Evidence")

# Seconds without the replica after an error.
PAUSE_S = 10.0


class _Pause:
    """When the replica may be used again, and why it is paused."""

    ends: float = 0.0
    reason: Reason = Reason.UNREACHABLE


class _ReplicaNotUsed(Exception):
    """The primary has to be read."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


_counting = Lock()
_counts: Counter[Reason | None] = Counter()


def read_in_snapshot(read: Callable[[], Evidence]) -> Evidence:
    """Return the result of ``read`` in one snapshot with everything acknowledged until now.

    Use the replica if there is one and it is up to date. If it is not, or fails, call ``read`` on
    the primary. A statement that timed out on the replica is not repeated.

    Args:
        read: Must not write, nor call a model.

    Raises:
        OperationalError: A statement took too long.
    """
    if REPLICA in connections and not connection.in_atomic_block:
        try:
            return _read_replica(read)
        except _ReplicaNotUsed as exc:
            _count(exc.reason)
    with one_snapshot():
        return read()


def count_reads() -> Mapping[Reason | None, int]:
    """Count the reads of this process by the reason why they did not use the replica.

    None counts reads from the replica.
    """
    with _counting:
        return dict(_counts)


def pause_reason() -> Reason | None:
    """Return why the replica is paused; None if it is not."""
    return _Pause.reason if monotonic() < _Pause.ends else None


def _read_replica(read: Callable[[], Evidence]) -> Evidence:
    """Return the result of ``read`` on the replica.

    Raises:
        _ReplicaNotUsed: It is paused, behind or failed.
    """
    if (paused := pause_reason()) is not None:
        raise _ReplicaNotUsed(paused)
    needed = _read_needed()
    try:
        standing = check_standby(needed)
        if standing.reason is Reason.BEHIND:
            raise _ReplicaNotUsed(Reason.BEHIND)
        if standing.reason is not None:
            raise _begin_pause(standing.reason, standing.detail)
        with _replica_as_default(), one_snapshot():
            evidence = read()
    except (DatabaseError, InterfaceError) as exc:
        pause = _begin_pause(classify_error(exc), str(exc))
        if isinstance(exc.__cause__, QueryCanceled):
            _count(pause.reason)
            raise
        raise pause from exc
    finally:
        # Back to the pool: the thread may call a model next.
        connections[REPLICA].close()
    _count(None)
    return evidence


def _read_needed() -> Position:
    """Return the position that the replica must have reached.

    Raises:
        _ReplicaNotUsed: The primary does not answer; this is no fault of the replica.
    """
    try:
        return read_position()
    except (DatabaseError, InterfaceError) as exc:
        raise _ReplicaNotUsed(Reason.FAILED) from exc


def _begin_pause(reason: Reason, detail: str) -> _ReplicaNotUsed:
    _Pause.reason = reason
    _Pause.ends = monotonic() + PAUSE_S
    log.warning("replica_not_read", reason=reason.value, detail=detail)
    return _ReplicaNotUsed(reason)


def _count(reason: Reason | None) -> None:
    with _counting:
        _counts[reason] += 1


@contextmanager
def _replica_as_default() -> Iterator[None]:
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
