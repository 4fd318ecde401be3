"""What of the service's state is a problem, and what of it metrics tell."""

import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections

from corpus.postgres.standby import REPLICA, Position, Reason, StandbyState
from corpus.queue import Backlog, Worker
from corpus.telemetry import Count, Gauge
from pkb.backup.rotation import Backups
from pkb.dashboard import describe_state
from pkb.status import standby_status as standby_module
from pkb.status.gauges import CachedState, measure_state
from pkb.status.service_status import Disk, Problem, State
from pkb.status.standby_status import Standby, read_standby
from tests.support.standby import standby_at

NOW = datetime.now(UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def worker(silent_s: float, number: int = 1, *, is_home: bool = True) -> Worker:
    silent = timedelta(seconds=silent_s)
    return Worker(number, NOW - silent, silent, is_home=is_home)


def standby(reason: Reason | None = None, *, paused: Reason | None = None) -> Standby:
    lag = timedelta(seconds=5 if reason else 0)
    standing = StandbyState(reason, behind_bytes=700 if reason else 0, behind=lag)
    return Standby(standing, paused, {None: 8, Reason.BEHIND: 2})


def backups(age: timedelta, failure: str = "") -> Backups:
    return Backups((NOW - age,), failure, None)


WELL = State(
    models_loaded=True,
    workers=[worker(3)],
    backlog=Backlog(waiting_count=2, oldest=timedelta(seconds=8), failed_count=0),
    disks=[Disk("data", free_bytes=50, size_bytes=100)],
    backups=backups(DAY),
    backup_interval=DAY,
    standby=standby(),
)
# What only the home host can do waits, and what lives is elsewhere.
AT_HOME = Backlog(1, timedelta(minutes=5), 0, home_oldest=timedelta(minutes=5))


def test_where_all_is_well_there_is_no_problem() -> None:
    assert not list(WELL.find_problems())
    # None are to be made, and nothing waits.
    idle = Backlog(waiting_count=0, oldest=None, failed_count=0)
    assert not list(replace(WELL, backups=None, backlog=idle).find_problems())


@pytest.mark.parametrize(
    ("state", "problem", "said"),
    [
        (replace(WELL, models_loaded=False), Problem.MODELS_NOT_LOADED, "failed to load"),
        (replace(WELL, workers=None, backlog=None), Problem.DATABASE_AWAY, "does not answer"),
        (replace(WELL, workers=[]), Problem.NO_WORKER, "No worker"),
        (replace(WELL, workers=[worker(31)]), Problem.NO_WORKER, "No worker"),
        (replace(WELL, backlog=Backlog(1, 2 * HOUR, 0)), Problem.QUEUE_WAITS, "2\xa0hours"),
        (
            replace(WELL, disks=[Disk("database", 9, 100)]),
            Problem.DISK_FILLS,
            "database has 9 bytes (9%) free",
        ),
        (replace(WELL, backups=backups(3 * DAY)), Problem.BACKUP_OLD, "3\xa0days"),
        (replace(WELL, backups=backups(DAY, "full")), Problem.BACKUP_FAILED, "failed: full"),
        (
            replace(WELL, backlog=AT_HOME, workers=[worker(1, is_home=False), worker(31)]),
            Problem.HOME_UNSERVED,
            "5\xa0minutes",
        ),
        # Without any worker that is what is told.
        (replace(WELL, backlog=AT_HOME, workers=[]), Problem.NO_WORKER, "No worker"),
        (replace(WELL, standby=standby(Reason.OTHER_SYSTEM)), Problem.STANDBY_UNUSED, "another"),
        (
            replace(WELL, standby=standby(paused=Reason.UNREACHABLE)),
            Problem.STANDBY_UNUSED,
            "does not answer",
        ),
        (
            replace(WELL, standby=Standby(StandbyState(Reason.BEHIND, behind=HOUR), None, {})),
            Problem.STANDBY_BEHIND,
            "1\xa0hour",
        ),
    ],
)
def test_what_somebody_should_look_after_is_named(
    state: State, problem: Problem, said: str
) -> None:
    [found] = state.find_problems()
    assert found.problem == problem
    assert said in found.detail


def test_a_dead_worker_beside_a_live_one_and_short_waits_are_no_problem() -> None:
    assert not list(replace(WELL, workers=[worker(1, 2), worker(600, 1)]).find_problems())
    just_now = Backlog(1, timedelta(seconds=20), 0, home_oldest=timedelta(seconds=20))
    elsewhere = [worker(1, is_home=False)]
    assert not list(replace(WELL, backlog=just_now, workers=elsewhere).find_problems())
    assert not list(replace(WELL, backlog=AT_HOME).find_problems())


def test_a_standby_that_lacks_the_last_is_not_read_and_no_problem() -> None:
    state = replace(WELL, standby=standby(Reason.BEHIND))
    assert not list(state.find_problems())
    measured = {each.measured: each.value for each in measure_state(state)}
    assert (measured[Gauge.REPLICA_USED], measured[Gauge.REPLICA_BEHIND]) == (0, 700)
    assert measured[Gauge.REPLICA_LAG] == 5


def test_searches_are_counted_by_server_and_by_why_it_was_the_primary() -> None:
    counted = [
        (each.value, each.labels)
        for each in measure_state(WELL)
        if each.measured is Count.REPLICA_READS
    ]
    assert counted == [
        (8, {"server": "standby"}),
        (2, {"server": "primary", "reason": "behind"}),
    ]
    without = {each.measured for each in measure_state(replace(WELL, standby=None))}
    assert Count.REPLICA_READS not in without


def test_describe_state_counts_reads_of_both_servers() -> None:
    said = " ".join(describe_state(WELL))
    assert "is used; since this process started it answered 8 times" in said
    said = " ".join(describe_state(replace(WELL, standby=standby(Reason.BEHIND))))
    assert "is not used (behind)" in said
    assert "the primary instead 2 times" in said


def test_every_gauge_is_measured() -> None:
    measured = {measure.measured: measure for measure in measure_state(WELL)}
    assert set(measured) == {*Gauge, *Count}
    assert (measured[Gauge.HOME_WORKERS].value, measured[Gauge.REPLICA_USED].value) == (1, 1)
    assert measured[Gauge.WORKER_LAST_SEEN].value == 3
    assert measured[Gauge.QUEUE_OLDEST].value == 8
    # Since this module was read: a run of all tests may take longer than a quarter of an hour.
    assert DAY <= timedelta(seconds=measured[Gauge.BACKUP_AGE].value) < 2 * DAY
    assert measured[Gauge.DISK_FREE] == (Gauge.DISK_FREE, 50, {"use": "data"})


def test_measure_state_without_database_measures_only_that() -> None:
    away = replace(WELL, workers=None, backlog=None, backups=None, disks=[], standby=None)
    assert [(each.measured, each.value) for each in measure_state(away)] == [
        (Gauge.MODELS_LOADED, 1),
        (Gauge.DATABASE_UP, 0),
    ]


@pytest.mark.parametrize(("cache_s", "read_count"), [(60.0, 1), (-1.0, 3)])
def test_cached_state_serves_gauges_read_together(cache_s: float, read_count: int) -> None:
    reads: list[State] = []

    def read() -> State:
        reads.append(WELL)
        return WELL

    cached = CachedState(read, cache_s=cache_s)
    assert [cached() for _ in range(3)] == [WELL] * 3
    assert len(reads) == read_count


def test_cached_state_counts_from_the_end_of_a_slow_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("pkb.status.gauges.monotonic", lambda: clock[0])

    def read() -> State:
        clock[0] += 5
        return WELL

    cached = CachedState(read, cache_s=1)
    assert [cached() for _ in range(18)] == [WELL] * 18
    assert clock == [5]


def test_nobody_waits_for_a_standby_that_hangs(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any
) -> None:
    monkeypatch.setattr(standby_module, "TIMEOUT_S", 0.05)
    monkeypatch.setitem(connections.settings, REPLICA, standby_at(listener))
    needed = Position(system=1, timeline="00000001", lsn="0/0", at=NOW)
    with django_db_blocker.unblock():
        # Twice: the first read still hangs by then, and no other begins.
        for _ in range(2):
            found = read_standby(needed)
            assert found is not None
            assert (found.is_used, found.reason) == (False, Reason.UNREACHABLE)
        listener.settimeout(30)
        listener.accept()[0].close()
        # It hears at once that nobody is there any more.
        assert standby_module._one_query.acquire(timeout=30)
        standby_module._one_query.release()
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()
    # Of a primary that is away nobody knows how far the standby is behind.
    away = read_standby(None)
    assert away is not None
    assert (away.is_used, away.reason) == (False, None)
