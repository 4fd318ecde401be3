"""Kill -9 an ingest at three points: nothing half is left, and a second run completes it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import long_text
from tests.support.processes import find_broken, finish, manage, own_database, read

pytestmark = pytest.mark.slow

KILL_COUNT = 3
DOCUMENT_COUNT = 12


@pytest.fixture
def database(
    django_db_setup: None, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    # Each process would load the models, and tries nothing more with them.
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing-64")
    monkeypatch.setenv("PKB_TOKEN_VECTORS", "off")
    with django_db_blocker.unblock(), own_database(f"test_kill_ingest_{os.getpid()}") as url:
        yield url


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
