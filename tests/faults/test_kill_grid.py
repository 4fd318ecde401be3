"""Kill -9 the worker that fills a grid: it goes on, and asks nothing again that is stored."""

import signal

import pytest

from corpus.models import Collection
from qa.grids import save_grid
from qa.models import Grid
from tests.support.documents import ingest_text_of, long_text
from tests.support.processes import connected_to, find_broken, manage, name_of, read
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]

ROW_COUNT = 4
QUESTIONS = [f"When was the granary number {number} mended?" for number in range(4)]


def cells(database: str) -> set[object]:
    return {key for (key,) in read(database, "SELECT id FROM qa_answer WHERE grid_id IS NOT NULL")}


def test_killed_worker_goes_on_with_the_cells_that_are_missing(database: str) -> None:
    with connected_to(name_of(database)):
        collection = Collection.objects.get_named("default")
        for number in range(ROW_COUNT):
            ingest_text_of(collection)(long_text(3).replace("Entry", f"Note {number}"))
        save_grid(Grid(collection=collection, name="Granaries", questions=QUESTIONS))
    worker = manage("worker", database=database)
    wait_until(lambda: len(cells(database)) > 0)
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=60)
    stored = cells(database)
    assert 0 < len(stored) < ROW_COUNT * len(QUESTIONS)
    assert find_broken(database) == []
    worker = manage("worker", database=database)
    ended = "SELECT status, done, failed FROM corpus_job WHERE kind = 'grid'"
    wait_until(lambda: read(database, ended) == [("succeeded", ROW_COUNT, 0)])
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=60)
    assert stored < cells(database)
    assert len(cells(database)) == ROW_COUNT * len(QUESTIONS)
    assert find_broken(database) == []
