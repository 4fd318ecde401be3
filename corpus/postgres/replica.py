"""Read evidence from a replica, as long as that has all that the primary has acknowledged.

``connection`` is the replica's meanwhile, so that statements of the ORM and SQL of our own follow,
and rows come as any others do: what is done with them afterwards is done on the primary
(docs/decisions/0047).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TypeVar

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections

from corpus.postgres.snapshot import one_snapshot

log = structlog.get_logger(__name__)
Evidence = TypeVar("Evidence")

REPLICA = "replica"
# After an error the primary is read for so long.
PAUSE_S = 10.0
# A standby beside the primary has a commit after a millisecond or two.
POLL_S = 0.002
# A commit is acknowledged when it is flushed, unless the server is told otherwise. What is inserted
# and not flushed yet, as a read leaves it that tidies a page, is sent to no standby.
_NEEDED = """
SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
       ELSE pg_current_wal_flush_lsn() END::text,
       system_identifier, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)
  FROM pg_control_system()
"""
# A server of others, one that was promoted, and one that follows what the primary was before it was
# restored have positions that say nothing of ours; a role that gets around policies would show
# everybody everything. After a restore it is found to follow with its next checkpoint.
_HAS_ALL = """
SELECT pg_is_in_recovery() AND s.system_identifier = %s
         AND upper(lpad(to_hex(c.timeline_id), 8, '0')) = %s AND NOT (rolsuper OR rolbypassrls),
       coalesce(pg_last_wal_replay_lsn() >= %s::pg_lsn, false)
  FROM pg_control_system() s, pg_control_checkpoint() c, pg_roles WHERE rolname = current_user
"""
NOT_OURS = (
    "PKB_REPLICA_URL names no standby of this primary as it is now, or a role for which row-level"
    " security does not hold"
)


class _Pause:
    """When the replica may be asked again."""

    ends: float = 0.0


def read_evidence(read: Callable[[], Evidence]) -> Evidence:
    """Return what ``read`` finds in one snapshot, which has all that was acknowledged until now.

    It is the replica's, if there is one and it is as new; else, or where it fails, ``read`` is
    called on the primary, whatever it has read by then.

    Args:
        read: Writes nothing, and asks no model.
    """
    has_replica = REPLICA in connections and not connection.in_atomic_block
    if has_replica and monotonic() >= _Pause.ends:
        try:
            if _is_as_new():
                with _in_place_of_primary(), one_snapshot():
                    return read()
        except (DatabaseError, InterfaceError) as exc:
            _Pause.ends = monotonic() + PAUSE_S
            log.warning("replica_not_read", reason=str(exc))
        finally:
            # The pool has it; a thread that goes on to a model needs it no more.
            connections[REPLICA].close()
    with one_snapshot():
        return read()


def _is_as_new() -> bool:
    """Tell whether the replica has all that is committed; it is waited for for a moment.

    It is asked before its snapshot is taken: one that was taken before might be older than that.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NEEDED)
        position, system, timeline = cursor.fetchone()
    ends = monotonic() + settings.PKB_REPLICA_WAIT_MS / 1000
    while True:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(_HAS_ALL, [system, timeline, position])
            is_ours, has_all = cursor.fetchone()
        if not is_ours:
            raise InterfaceError(NOT_OURS)
        if has_all or monotonic() >= ends:
            return bool(has_all)
        sleep(POLL_S)


@contextmanager
def _in_place_of_primary() -> Iterator[None]:
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
