"""Decide if the replica may be read: a standby of the primary that has replayed its log."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from time import monotonic, sleep
from typing import NamedTuple

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections

log = structlog.get_logger(__name__)

REPLICA = "replica"
# Seconds without the replica after an error.
PAUSE_S = 10.0
# A standby nearby replays a commit after one or two milliseconds.
POLL_S = 0.002
# By default a commit is acknowledged when it is flushed. Records that are inserted but not flushed,
# such as those of a read that prunes a page, are not sent to a standby.
_NEEDED = """
SELECT system_identifier, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8),
       CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
       ELSE pg_current_wal_flush_lsn() END::text, clock_timestamp()
  FROM pg_control_system()
"""
# Another system, a promoted server, or a standby of the primary before a restore has positions that
# cannot be compared; a role that bypasses policies would show every row to everyone. After a
# restore, the standby counts as following from its next checkpoint on.
_STANDING = """
SELECT pg_is_in_recovery(), s.system_identifier = %s,
       upper(lpad(to_hex(c.timeline_id), 8, '0')) = %s, NOT (rolsuper OR rolbypassrls),
       pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn())::bigint,
       %s - pg_last_xact_replay_timestamp()
  FROM pg_control_system() s, pg_control_checkpoint() c, pg_roles WHERE rolname = current_user
"""
# The server shuts down or starts; a failed connection has no code.
_LOST = ("08", "57P")


class Reason(StrEnum):
    """Why the primary is read instead of the standby."""

    UNREACHABLE = "unreachable"
    BEHIND = "behind"
    NOT_A_STANDBY = "not_a_standby"
    OTHER_SYSTEM = "other_system"
    OTHER_TIMELINE = "other_timeline"
    UNSAFE_ROLE = "unsafe_role"
    # A statement failed, for example by a conflict with replay.
    FAILED = "failed"


# In the order of the columns of _STANDING.
_WRONG = (Reason.NOT_A_STANDBY, Reason.OTHER_SYSTEM, Reason.OTHER_TIMELINE, Reason.UNSAFE_ROLE)


class Position(NamedTuple):
    """The flushed position of the primary's log at a time, and the identity of that log."""

    system: int
    timeline: str
    lsn: str
    at: datetime


@dataclass(frozen=True, slots=True)
class StandbyState:
    """The standby compared with a position of the primary.

    Attributes:
        reason: Why it must not be read; None if it is up to date.
        detail: The server's error message, if any.
        behind_bytes: Bytes of the log up to the position that it has not replayed; None if
            unknown.
        behind: Age of its newest commit while it lacks one, an upper bound of its delay; None if
            it has replayed none since it started.
    """

    reason: Reason | None
    detail: str = ""
    behind_bytes: int | None = None
    behind: timedelta | None = None


class _Pause:
    """The end of the replica's pause, and its reason."""

    ends: float = 0.0
    reason: Reason = Reason.UNREACHABLE


def find_obstacle() -> Reason | None:
    """Return why the primary must be read; None if the replica has everything acknowledged.

    Wait for the replica for a moment, and pause its use if it is a wrong one.
    """
    if (reason := pause_reason()) is not None:
        return reason
    try:
        state = check_standby(read_position())
    except (DatabaseError, InterfaceError):
        # The primary does not answer, which is no fault of the replica.
        return Reason.FAILED
    if state.reason is not None and state.reason is not Reason.BEHIND:
        pause(state.reason, state.detail)
    return state.reason


def pause(reason: Reason, detail: str) -> None:
    """Do not use the replica for ``PAUSE_S`` seconds."""
    _Pause.reason = reason
    _Pause.ends = monotonic() + PAUSE_S
    log.warning("replica_not_read", reason=reason.value, detail=detail)


def pause_reason() -> Reason | None:
    """Return why the replica is paused; None if it is not."""
    return _Pause.reason if monotonic() < _Pause.ends else None


def read_position() -> Position:
    """Return the position up to which the primary has acknowledged commits."""
    with connection.cursor() as cursor:
        cursor.execute(_NEEDED)
        return Position(*cursor.fetchone())


def check_standby(needed: Position) -> StandbyState:
    """Compare the standby with a position; wait up to ``PKB_REPLICA_WAIT_MS`` for it.

    Read the position before the snapshot begins.
    """
    ends = monotonic() + settings.PKB_REPLICA_WAIT_MS / 1000
    try:
        while True:
            with connections[REPLICA].cursor() as cursor:
                cursor.execute(_STANDING, needed)
                *is_right, behind_bytes, behind = cursor.fetchone()
            for reason, holds in zip(_WRONG, is_right, strict=True):
                if not holds:
                    return StandbyState(reason)
            if behind_bytes is not None and behind_bytes <= 0:
                return StandbyState(None, behind_bytes=0, behind=timedelta(0))
            if monotonic() >= ends:
                # The last commit may be newer than the position.
                newest = None if behind is None else max(behind, timedelta(0))
                return StandbyState(Reason.BEHIND, behind_bytes=behind_bytes, behind=newest)
            sleep(POLL_S)
    except (DatabaseError, InterfaceError) as exc:
        return StandbyState(classify_error(exc), str(exc))


def classify_error(error: Exception) -> Reason:
    """Return the reason of an error of the standby."""
    code = getattr(error.__cause__, "sqlstate", None)
    return Reason.UNREACHABLE if code is None or code.startswith(_LOST) else Reason.FAILED
