"""A worker that breaks off is followed by another; one that was told to end is not."""

import os
import sys
from pathlib import Path

import pytest

from pkb.management import worker_supervisor


@pytest.fixture
def said(tmp_path: Path) -> Path:
    return tmp_path / "said"


def ends_with(*statuses: int, said: Path) -> list[str]:
    """A command that notes what it was given, and ends with one status after the other."""
    program = (
        "import sys; said = open(sys.argv[1], 'a+'); said.seek(0); turn = len(said.readlines());"
        "print(*sys.argv[2:], file=said, flush=True);"
        f"sys.exit({statuses}[turn])"
    )
    return [sys.executable, "-S", "-c", program, str(said)]


def test_worker_that_breaks_off_is_started_again_with_how_the_last_ended(
    said: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_supervisor, "FIRST_PAUSE_S", 0)
    worker_supervisor.supervise_worker(ends_with(1, 7, 0, said=said), parent=os.getppid())
    given = f"--parent {os.getpid()}"
    assert said.read_text().splitlines() == [given, f"{given} --after=1", f"{given} --after=7"]


def test_no_worker_is_started_once_the_server_has_ended(said: Path) -> None:
    worker_supervisor.supervise_worker(ends_with(1, said=said), parent=os.getpid())
    assert not said.exists()
