"""One client after the other, in this process: whatever it does, it sees what it did."""

from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from django.core.handlers.wsgi import WSGIHandler
from hypothesis import HealthCheck
from hypothesis import settings as drawn_with
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from corpus.catalogue import create_collection, delete_collection
from corpus.jobs.run import run_job_slice
from tests.histories.doors import Doors
from tests.histories.history import History
from tests.histories.model import Act, Write
from tests.histories.shelf import Folder, Shelf, new_places
from tests.histories.texts import CHUNKING, QUESTIONS
from tests.support.drawing import examples

pytestmark = [
    # Inside a transaction no answer is kept to be given again.
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.no_cover,
]

MODEL = "hashing-64"
STEPS = 14

places = st.integers(0, 1)
tags = st.sampled_from([(), ("east",), ("west",), ("east", "west")])
a_tag = st.sampled_from(["", "east", "west"])


class Library(RuleBasedStateMachine):
    """A collection with two notes, and two files of a folder that is mirrored."""

    root: Path

    def __init__(self) -> None:
        super().__init__()
        name = f"c{uuid4().hex}"
        create_collection(name, embedding_model=MODEL, chunking=CHUNKING)
        path = self.root / name
        path.mkdir()
        # Plain text: a parser in a process of its own costs more than all else here.
        folder = Folder(path, new_places(2, 2), suffix=".txt")
        shelf = Shelf(name, new_places(0, 2), count(1), (folder,))
        self.http = httpx2.Client(
            transport=httpx2.WSGITransport(WSGIHandler()), base_url="http://localhost"
        )
        self.doors = Doors(self.http, shelf, History(), run_job=advance)
        self.folder = folder

    def teardown(self) -> None:
        self.http.close()
        delete_collection(self.doors.shelf.collection)

    @rule(number=places, tags=tags)
    def put(self, number: int, tags: tuple[str, ...]) -> None:
        self.doors.put(self.doors.shelf.notes[number], tags, as_file=False)

    @rule(number=places)
    def delete(self, number: int) -> None:
        self.doors.delete(self.doors.shelf.notes[number])

    @rule(number=places, tags=tags)
    def tag(self, number: int, tags: tuple[str, ...]) -> None:
        self.doors.tag(self.doors.shelf.notes[number], tags)

    @rule(number=places, how=st.sampled_from(["write", "remove", "rename"]))
    def sync(self, number: int, how: str) -> None:
        place = self.folder.places[number]

        def change(folder: Folder) -> list[Write]:
            if how == "write":
                version = self.doors.shelf.new_version(place)
                folder.write(place, version)
                return [Write(Act.PUT, place, 0, 0, version)]
            if place in folder.files and how == "remove":
                folder.remove(place)
                return [Write(Act.DELETE, place, 0, 0)]
            if place in folder.files:
                folder.rename(place)
            return []

        self.doors.sync(self.folder, change)

    @rule(mode=st.sampled_from(["hybrid", "semantic", "lexical"]), tag=a_tag)
    def search(self, mode: str, tag: str) -> None:
        self.doors.search(mode=mode, tag=tag)
        self.check()

    @precondition(lambda self: self.doors.shelf.latest_versions)
    @rule(back=st.integers(0, 3))
    def search_version(self, back: int) -> None:
        latest = self.doors.shelf.latest_versions
        self.doors.search_version(latest[-1 - back % len(latest)])
        self.check()

    @rule(number=st.integers(0, 3), question=st.sampled_from(QUESTIONS), tag=a_tag)
    def answer(self, number: int, question: str, tag: str) -> None:
        shelf = self.doors.shelf
        place = (*shelf.notes, *self.folder.places)[number]
        self.doors.answer(question.format(place=place), tag=tag)
        self.check()

    @precondition(lambda self: self.doors.shelf.answer_ids)
    @rule(back=st.integers(0, 3))
    def read_answer(self, back: int) -> None:
        given = self.doors.shelf.answer_ids
        self.doors.read_answer(given[-1 - back % len(given)])
        self.check()

    def check(self) -> None:
        history = self.doors.history
        assert history.find_violations() == []
        assert history.failures == []


def advance(job_id: str) -> None:
    assert run_job_slice(UUID(job_id))


@pytest.fixture
def machine(tmp_path: Path, settings: Any) -> type[Library]:
    settings.PKB_INGEST_ROOTS = [tmp_path]
    settings.PKB_RERANKER_MODEL = settings.PKB_READER = "none"
    Library.root = tmp_path
    return Library


def test_a_client_sees_what_it_did_and_nothing_else(machine: type[Library]) -> None:
    drawn = drawn_with(
        max_examples=examples(2),
        stateful_step_count=STEPS,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=drawn)
