"""Read in one snapshot, from a replica if it has everything that the primary has acknowledged.

Rows that came from it are written to the primary (docs/decisions/0045).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, connection, connections, transaction
from psycopg import IsolationLevel
from psycopg.errors import QueryCanceled

from corpus.postgres import default_connection
from corpus.postgres.standby import REPLICA, Reason, classify_error, find_obstacle, pause

Evidence = TypeVar("Evidence")

_counting = Lock()
_counts: Counter[Reason | None] = Counter()


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
        reason = None
        try:
            reason = find_obstacle()
            if reason is None:
                with default_connection(connections[REPLICA]), one_snapshot():
                    return read()
        except (DatabaseError, InterfaceError) as exc:
            reason = classify_error(exc)
            pause(reason, str(exc))
            if isinstance(exc.__cause__, QueryCanceled):
                raise
        finally:
            # Back to the pool: the thread may call a model next.
            connections[REPLICA].close()
            with _counting:
                _counts[reason] += 1
    with one_snapshot():
        return read()


def count_reads() -> Mapping[Reason | None, int]:
    """Count the reads of this process by the reason why they did not use the replica.

    None counts reads from the replica.
    """
    with _counting:
        return dict(_counts)
