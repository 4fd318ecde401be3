"""What of the service's state is a problem, and what of it metrics tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from corpus.queue import Backlog, Worker
from corpus.telemetry import Gauge
from pkb.backup.kept import Backups
from pkb.status.metrics import KeptState, measure_state
from pkb.status.state import Disk, Problem, State

NOW = datetime.now(UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def worker(silent_s: float, number: int = 1) -> Worker:
    return Worker(number, NOW - timedelta(seconds=silent_s), timedelta(seconds=silent_s))


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


def test_where_all_is_well_there_is_no_problem() -> None:
    assert not list(WELL.find_problems())
    # None are to be made, and nothing waits.
    idle = Backlog(waiting_count=0, oldest=None, failed_count=0)
    assert not list(replace(WELL, backups=None, backlog=idle).find_problems())


@pytest.mark.parametrize(
    ("state", "problem", "said"),
    [
        (replace(WELL, models_loaded=False), Problem.MODELS_NOT_LOADED, "did not load"),
        (replace(WELL, workers=None, backlog=None), Problem.DATABASE_AWAY, "does not answer"),
        (replace(WELL, workers=[]), Problem.NO_WORKER, "No worker"),
        (replace(WELL, workers=[worker(31)]), Problem.NO_WORKER, "No worker"),
        (replace(WELL, backlog=Backlog(1, 2 * HOUR, 0)), Problem.QUEUE_WAITS, "2\xa0hours"),
        (
            replace(WELL, disks=[Disk("database", 9, 100)]),
            Problem.DISK_FILLS,
            "database 9 bytes, 9%",
        ),
        (replace(WELL, backups=backups(3 * DAY)), Problem.BACKUP_OLD, "3\xa0days"),
        (replace(WELL, backups=backups(DAY, "full")), Problem.BACKUP_FAILED, "failed: full"),
    ],
)
def test_what_somebody_should_look_after_is_named(
    state: State, problem: Problem, said: str
) -> None:
    [found] = state.find_problems()
    assert found.problem == problem
    assert said in found.detail


def test_a_worker_that_died_beside_one_that_lives_is_no_problem() -> None:
    assert not list(replace(WELL, workers=[worker(1, 2), worker(600, 1)]).find_problems())


def test_every_gauge_is_measured() -> None:
    measured = {measure.gauge: measure for measure in measure_state(WELL)}
    assert set(measured) == set(Gauge)
    assert measured[Gauge.WORKER_LAST_SEEN].value == 3
    assert measured[Gauge.QUEUE_OLDEST].value == 8
    assert measured[Gauge.BACKUP_AGE].value == pytest.approx(DAY.total_seconds(), abs=600)
    assert measured[Gauge.DISK_FREE] == (Gauge.DISK_FREE, 50, {"use": "data"})


def test_of_a_database_that_is_away_that_alone_is_measured() -> None:
    away = replace(WELL, workers=None, backlog=None, backups=None, disks=[])
    assert [(each.gauge, each.value) for each in measure_state(away)] == [
        (Gauge.MODELS_LOADED, 1),
        (Gauge.DATABASE_UP, 0),
    ]


@pytest.mark.parametrize(("kept_s", "looks"), [(60.0, 1), (-1.0, 3)])
def test_gauges_that_are_asked_for_together_share_one_look(kept_s: float, looks: int) -> None:
    read: list[State] = []

    def look() -> State:
        read.append(WELL)
        return WELL

    kept = KeptState(look, kept_s=kept_s)
    assert [kept() for _ in range(3)] == [WELL] * 3
    assert len(read) == looks
