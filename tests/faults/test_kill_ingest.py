"""Kill -9 an ingest at three points: nothing half is left, and a second run completes it."""

import signal
from pathlib import Path

import pytest

from tests.support.documents import long_text
from tests.support.processes import find_broken, finish, manage, read

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]

KILL_COUNT = 3
DOCUMENT_COUNT = 12


def test_an_ingest_killed_at_three_points_leaves_no_half_document(
    database: str, tmp_path: Path
) -> None:
    for number in range(DOCUMENT_COUNT):
        text = long_text(8).replace("Entry", f"Note {number}")
        (tmp_path / f"{number:02}.txt").write_text(text)
    for point in range(KILL_COUNT):
        process = manage("ingest", str(tmp_path), "--json", database=database)
        assert process.stdout is not None
        for _ in range(1 + 4 * point):  # a line for each file
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert find_broken(database) == []
    assert finish("ingest", str(tmp_path), database=database)[0] == 0
    assert find_broken(database) == []
    stored = read(database, "SELECT source_uri, status FROM corpus_document")
    assert sorted(map(str, stored)) == sorted(
        str((path.as_uri(), "completed")) for path in tmp_path.glob("*.txt")
    )
