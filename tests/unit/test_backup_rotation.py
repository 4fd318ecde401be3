"""When the next backup is made, and what is told of those that are there."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pkb.backup.rotation import RETRY_AFTER, Backups, read_backups
from pkb.dashboard import describe_backups

DAY = timedelta(days=1)
Made = Callable[[timedelta], None]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Make what a backup of some time ago looks like."""

    def make(age: timedelta) -> None:
        time = datetime.now(UTC) - age
        (tmp_path / time.strftime("pkb-%Y%m%dT%H%M%SZ")).mkdir()

    return make


@pytest.mark.parametrize(
    ("age", "failed_ago", "is_due"),
    [
        (None, None, True),
        (DAY / 2, None, False),
        (DAY * 2, None, True),
        (DAY * 2, RETRY_AFTER / 2, False),
        (None, RETRY_AFTER / 2, False),
        (DAY * 2, RETRY_AFTER * 2, True),
    ],
)
def test_a_backup_is_due_once_the_last_is_old_and_no_try_failed_just_now(
    age: timedelta | None, failed_ago: timedelta | None, is_due: bool
) -> None:
    now = datetime.now(UTC)
    times = (now - age,) if age is not None else ()
    failed_at = now - failed_ago if failed_ago is not None else None
    assert Backups(times, "why", failed_at).is_due(DAY) is is_due


def test_describe_backups_has_the_age_of_the_last(made: Made, tmp_path: Path) -> None:
    made(DAY * 3)
    made(DAY * 2)
    # One that is being written, and what is no backup.
    (tmp_path / ".backup.partial").mkdir()
    (tmp_path / "pkb-notes").mkdir()
    found = read_backups(tmp_path)
    assert found.age is not None
    assert found.age.total_seconds() == pytest.approx(DAY.total_seconds() * 2, abs=60)
    assert describe_backups(found) == "Last good backup: 2\xa0days ago; 2 backups."
    (tmp_path / "failed.json").write_text(
        '{"at": "2026-11-23T09:00:00+00:00", "reason": "disk full"}'
    )
    told = describe_backups(read_backups(tmp_path))
    assert told.endswith("The last attempt failed: disk full")


def test_read_backups_ignores_a_partial_failure_file(made: Made, tmp_path: Path) -> None:
    (tmp_path / "failed.json").write_text('{"at": "2026-')
    assert read_backups(tmp_path) == Backups((), "", None)
    assert describe_backups(read_backups(tmp_path)) == "Last good backup: never; 0 backups."


def test_it_is_told_where_none_are_made() -> None:
    assert "PKB_BACKUP_DIR is not set" in describe_backups(None)
