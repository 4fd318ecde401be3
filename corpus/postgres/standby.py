"""How the standby stands to its primary: whether it is one, and what of the log it has replayed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from time import monotonic, sleep

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections

REPLICA = "replica"
# A standby beside the primary has a commit after a millisecond or two.
POLL_S = 0.002
# A commit is acknowledged when it is flushed, unless the server is told otherwise. What is inserted
# and not flushed yet, as a read leaves it that tidies a page, is sent to no standby.
_NEEDED = """
SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
       ELSE pg_current_wal_flush_lsn() END::text,
       system_identifier, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8), clock_timestamp()
  FROM pg_control_system()
"""
# A server of others, one that was promoted, and one that follows what the primary was before it was
# restored have positions that say nothing of ours; a role that gets around policies would show
# everybody everything. After a restore it is found to follow with its next checkpoint.
_STANDING = """
SELECT pg_is_in_recovery(), s.system_identifier = %s,
       upper(lpad(to_hex(c.timeline_id), 8, '0')) = %s, NOT (rolsuper OR rolbypassrls),
       pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn())::bigint,
       %s - pg_last_xact_replay_timestamp()
  FROM pg_control_system() s, pg_control_checkpoint() c, pg_roles WHERE rolname = current_user
"""
# The server ends or starts, or there was never a connection, which has no code.
_LOST = ("08", "57P")


class Reason(StrEnum):
    """Why the primary is read in the standby's place."""

    UNREACHABLE = "unreachable"
    BEHIND = "behind"
    NOT_A_STANDBY = "not_a_standby"
    OTHER_SYSTEM = "other_system"
    OTHER_TIMELINE = "other_timeline"
    UNSAFE_ROLE = "unsafe_role"
    # A statement was refused, as one is that conflicts with what is replayed.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Position:
    """Up to where the primary's log had been flushed at a moment, and which log that is."""

    lsn: str
    system: int
    timeline: str
    at: datetime


@dataclass(frozen=True, slots=True)
class StandbyState:
    """How the standby stands to a position of the primary.

    Attributes:
        reason: Why it is not to be read; None: it has all.
        detail: What the server said of it, if anything.
        behind_bytes: Of the log up to there, what it has not replayed; None where that says
            nothing.
        behind: How old the newest commit was that it has, while it lacked one: it has been
            behind for no longer. None where it has replayed none since it started.
    """

    reason: Reason | None
    detail: str = ""
    behind_bytes: int | None = None
    behind: timedelta | None = None


def read_position() -> Position:
    """Return up to where everything has been acknowledged, of the primary."""
    with connection.cursor() as cursor:
        cursor.execute(_NEEDED)
        return Position(*cursor.fetchone())


def check_standby(needed: Position) -> StandbyState:
    """Return how the standby stands to a position; it is waited for for a moment.

    The position is to be older than the snapshot that is read then.
    """
    ends = monotonic() + settings.PKB_REPLICA_WAIT_MS / 1000
    try:
        while True:
            found = _ask_once(needed)
            if found.reason is not Reason.BEHIND or monotonic() >= ends:
                return found
            sleep(POLL_S)
    except (DatabaseError, InterfaceError) as exc:
        return StandbyState(classify_error(exc), str(exc))


def _ask_once(needed: Position) -> StandbyState:
    with connections[REPLICA].cursor() as cursor:
        cursor.execute(_STANDING, [needed.system, needed.timeline, needed.lsn, needed.at])
        *is_right, behind_bytes, behind = cursor.fetchone()
    for reason, holds in zip(_WRONG, is_right, strict=True):
        if not holds:
            return StandbyState(reason)
    if behind_bytes is not None and behind_bytes <= 0:
        return StandbyState(None, behind_bytes=0, behind=timedelta(0))
    # The last commit may have come after the position that it was compared with.
    newest = None if behind is None else max(behind, timedelta(0))
    return StandbyState(Reason.BEHIND, behind_bytes=behind_bytes, behind=newest)


# In the order of the columns.
_WRONG = (Reason.NOT_A_STANDBY, Reason.OTHER_SYSTEM, Reason.OTHER_TIMELINE, Reason.UNSAFE_ROLE)


def classify_error(error: Exception) -> Reason:
    """Return why the standby was not read, by the error that came of it."""
    code = getattr(error.__cause__, "sqlstate", None)
    return Reason.UNREACHABLE if code is None or code.startswith(_LOST) else Reason.FAILED
