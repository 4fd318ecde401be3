"""Kill -9 what builds a collection's new vectors: nothing is lost, nothing is made twice."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.documents import long_text
from tests.support.processes import find_broken, finish, manage, read
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]

DOCUMENT_COUNT = 30
OLD, NEW = "hashing-64", "hashing-96"
REEMBED = ["reembed", "--model", NEW, "--json"]


@pytest.fixture
def stored(database: str, tmp_path: Path) -> int:
    """Take documents in; returns the number of their chunks."""
    for number in range(DOCUMENT_COUNT):
        text = long_text(8).replace("Entry", f"Note {number}")
        (tmp_path / f"{number:02}.txt").write_text(text)
    assert finish("ingest", str(tmp_path), database=database)[0] == 0
    ((count,),) = read(database, "SELECT count(*) FROM corpus_chunk")
    return int(str(count))


def vectors(database: str, model: str) -> int:
    rows = read(database, "SELECT model, count(*) FROM corpus_embedding GROUP BY model")
    return sum(int(str(count)) for name, count in rows if name == model)


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def test_killed_in_the_middle_and_run_again_nothing_is_lost(database: str, stored: int) -> None:
    command = manage(*REEMBED, "--switch", database=database)
    wait_until(lambda: vectors(database, NEW) > 0)
    kill(command)
    built = vectors(database, NEW)
    assert 0 < built <= stored
    assert vectors(database, OLD) == stored
    assert read(database, "SELECT embedding_model FROM corpus_collection") == [(OLD,)]
    assert find_broken(database) == []
    code, out, err = finish(*REEMBED, "--switch", database=database)
    assert code == 0, err
    assert json.loads(out)["embedding_model"] == NEW
    assert (vectors(database, NEW), vectors(database, OLD)) == (stored, stored)
    assert read(database, "SELECT status, failed FROM corpus_job WHERE kind = 'reembed'") == [
        ("succeeded", 0)
    ]
    assert find_broken(database) == []


@pytest.mark.campaign
def test_a_worker_goes_on_with_a_build_that_was_killed(database: str, stored: int) -> None:
    command = manage(*REEMBED, "--workers", "2", database=database)
    wait_until(lambda: vectors(database, NEW) > 0)
    kill(command)
    worker = manage("worker", database=database)
    wait_until(lambda: vectors(database, NEW) == stored)
    ended = "SELECT status FROM corpus_job WHERE kind = 'reembed'"
    wait_until(lambda: read(database, ended) == [("succeeded",)])
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=60)
    assert find_broken(database) == []
