"""Read one snapshot, or evidence from a replica that has all the primary has acknowledged.

``connection`` is the replica's meanwhile, so that statements of the ORM and SQL of our own follow,
and rows come as any others do: what is done with them afterwards is done on the primary
(docs/decisions/0045).
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
    """Let all statements read what was committed when the first of them began.

    Within a transaction they see what that sees. Models are not asked in here: what was deleted
    meanwhile is kept by Postgres for as long as this goes on.
    """
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    opened: Any = connection.connection
    usual = opened.isolation_level
    # It is said with BEGIN: no statement can come before it.
    opened.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with transaction.atomic():
            yield
    finally:
        if not opened.closed:
            opened.isolation_level = usual


log = structlog.get_logger(__name__)
Evidence = TypeVar("Evidence")

# After an error the primary is read for so long.
PAUSE_S = 10.0


class _Pause:
    """When the replica may be asked again, and why not before."""

    ends: float = 0.0
    reason: Reason = Reason.UNREACHABLE


class _ReplicaNotUsed(Exception):
    """The primary is to be read."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


_counting = Lock()
_counts: Counter[Reason | None] = Counter()


def read_in_snapshot(read: Callable[[], Evidence]) -> Evidence:
    """Return what ``read`` finds in one snapshot, which has all that was acknowledged until now.

    It is the replica's, if there is one and it is as new; else, or where it fails, ``read`` is
    called on the primary, whatever it has read by then. What took too long there is not begun
    anew: it would take as long again.

    Args:
        read: Writes nothing, and asks no model.

    Raises:
        OperationalError: A statement took too long, as it would on the primary.
    """
    if REPLICA in connections and not connection.in_atomic_block:
        try:
            return _read_replica(read)
        except _ReplicaNotUsed as exc:
            _count(exc.reason)
    with one_snapshot():
        return read()


def count_reads() -> Mapping[Reason | None, int]:
    """Return how often evidence was read since this process began, by why not from the replica.

    None counts what was read from it.
    """
    with _counting:
        return dict(_counts)


def pause_reason() -> Reason | None:
    """Return why the replica is not asked now; None if it is."""
    return _Pause.reason if monotonic() < _Pause.ends else None


def _read_replica(read: Callable[[], Evidence]) -> Evidence:
    """Return what ``read`` finds on the replica.

    Raises:
        _ReplicaNotUsed: It is not to be read, or failed.
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
        with _in_place_of_primary(), one_snapshot():
            evidence = read()
    except (DatabaseError, InterfaceError) as exc:
        pause = _begin_pause(classify_error(exc), str(exc))
        if isinstance(exc.__cause__, QueryCanceled):
            _count(pause.reason)
            raise
        raise pause from exc
    finally:
        # The pool has it; a thread that goes on to a model needs it no more.
        connections[REPLICA].close()
    _count(None)
    return evidence


def _read_needed() -> Position:
    """Return what the replica is to have.

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
def _in_place_of_primary() -> Iterator[None]:
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
