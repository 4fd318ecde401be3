"""What of the service's state is a problem, and what of it metrics tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from corpus.queue import Backlog, Worker
from corpus.telemetry import Gauge
from pkb.backup.rotation import Backups
from pkb.status.gauges import CachedState, measure_state
from pkb.status.service_status import Disk, Problem, State

NOW = datetime.now(UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def worker(silent_s: float, number: int = 1, *, is_home: bool = True) -> Worker:
    silent = timedelta(seconds=silent_s)
    return Worker(number, NOW - silent, silent, is_home=is_home)


def backups(age: timedelta, failure: str = "") -> Backups:
    return Backups((NOW - age,), failure, None)


WELL = State(
    models_loaded=True,
    workers=[worker(3)],
    backlog=Backlog(waiting_count=2, oldest=timedelta(seconds=8), failed_count=0),
    disks=[Disk("data", free_bytes=50, size_bytes=100)],
    backups=backups(DAY),
    backup_interval=DAY,
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


def test_every_gauge_is_measured() -> None:
    measured = {measure.gauge: measure for measure in measure_state(WELL)}
    assert set(measured) == {*Gauge}
    assert measured[Gauge.HOME_WORKERS].value == 1
    assert measured[Gauge.WORKER_LAST_SEEN].value == 3
    assert measured[Gauge.QUEUE_OLDEST].value == 8
    # Since this module was read: a run of all tests may take longer than a quarter of an hour.
    assert DAY <= timedelta(seconds=measured[Gauge.BACKUP_AGE].value) < 2 * DAY
    assert measured[Gauge.DISK_FREE] == (Gauge.DISK_FREE, 50, {"use": "data"})


def test_measure_state_without_database_measures_only_that() -> None:
    away = replace(WELL, workers=None, backlog=None, backups=None, disks=[])
    assert [(each.gauge, each.value) for each in measure_state(away)] == [
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
