"""Clients that do whatever comes to mind, by a seed, until their time is over."""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event

import httpx2

from tests.histories.doors import Doors
from tests.histories.history import History
from tests.histories.model import Act, Write
from tests.histories.shelf import Folder, Shelf, new_places
from tests.histories.texts import QUESTIONS

TAGS = ("east", "west")
MODES = ("hybrid", "semantic", "lexical")
# With their folders a collection has 12 places of 3 chunks: a search shows 50, and so all of them.
NOTES_PER_SHELF = 8
PLACES_PER_FOLDER = 4
SHELVES = 2
REQUEST_TIMEOUT_S = 60


@dataclass
class Client:
    """Does one thing after the other.

    Attributes:
        folder: The one that it alone changes, if any.
    """

    doors: Doors
    random: Random
    folder: Folder | None = None

    def act(self) -> None:
        acts = self._acts()
        (act,) = self.random.choices(list(acts), weights=list(acts.values()))
        act()

    def _acts(self) -> dict[Callable[[], None], int]:
        return {
            self.put: 20,
            self.delete: 8,
            self.tag: 8,
            self.search: 26,
            self.search_version: 6,
            self.answer: 18,
            self.chat: 6,
            self.read_again: 6,
            self.sync: 15 if self.folder else 0,
        }

    def put(self) -> None:
        as_file = self.random.random() < 0.7
        self.doors.put(self._note(), self._tags(), as_file=as_file)

    def delete(self) -> None:
        self.doors.delete(self._note())

    def tag(self) -> None:
        self.doors.tag(self._note(), self._tags())

    def search(self) -> None:
        tag = self.random.choice(("", "", *TAGS))
        rerank = self.random.random() < 0.1
        self.doors.search(mode=self.random.choice(MODES), tag=tag, rerank=rerank)

    def search_version(self) -> None:
        known = self.doors.shelf.latest_versions
        if known:
            self.doors.search_version(self.random.choice(known))

    def answer(self) -> None:
        self.doors.answer(self._question(), tag=self.random.choice(("", "", "", *TAGS)))

    def chat(self) -> None:
        self.doors.chat(self._question())

    def read_again(self) -> None:
        answers, streams = self.doors.shelf.answer_ids, self.doors.shelf.streams
        if streams and self.random.random() < 0.3:
            self.doors.read_stream(self.random.choice(streams))
        elif answers:
            self.doors.read_answer(self.random.choice(answers))

    def sync(self) -> None:
        assert self.folder is not None
        self.doors.sync(self.folder, self._change_files)

    def _change_files(self, folder: Folder) -> list[Write]:
        writes = []
        for place in folder.places:
            how = self.random.choice(("write", "write", "remove", "rename", "leave"))
            if how == "write":
                version = self.doors.shelf.new_version(place)
                folder.write(place, version)
                writes.append(Write(Act.PUT, place, 0, 0, version))
            elif how == "remove" and place in folder.files:
                folder.remove(place)
                writes.append(Write(Act.DELETE, place, 0, 0))
            elif how == "rename" and place in folder.files:
                folder.rename(place)
        return writes

    def _note(self) -> str:
        return self.random.choice(self.doors.shelf.notes)

    def _tags(self) -> list[str]:
        return [tag for tag in TAGS if self.random.random() < 0.5]

    def _question(self) -> str:
        # Few questions, so that answers are given again.
        places = sorted(self.doors.shelf.places)
        return self.random.choice(QUESTIONS).format(place=self.random.choice(places))


def make_shelves(
    names: list[str], *, root: Path, versions: Iterator[int], folders: int
) -> list[Shelf]:
    """Return a shelf for each collection; the folders are shared out among them.

    Args:
        root: Below it a folder is made for each.
        folders: How many there are in all.
    """
    numbers = itertools.count()
    shelves = []
    for index, name in enumerate(names):
        made = []
        for number in range(index, folders, len(names)):
            path = root / f"{name}-{number}"
            path.mkdir()
            made.append(Folder(path, _next_places(numbers, PLACES_PER_FOLDER)))
        notes = _next_places(numbers, NOTES_PER_SHELF)
        shelves.append(Shelf(name, notes, versions, tuple(made)))
    return shelves


def _next_places(numbers: Iterator[int], count: int) -> tuple[str, ...]:
    first = next(numbers)
    places = new_places(first, count)
    for _ in range(count - 1):
        next(numbers)
    return places


def run_clients(
    url: str, shelves: list[Shelf], history: History, *, seed: str, count: int, seconds: float
) -> None:
    """Let so many clients act for so long; the first ones have a folder each."""
    folders = [(shelf, folder) for shelf in shelves for folder in shelf.folders]
    stop = Event()

    def act(number: int) -> None:
        shelf, folder = folders[number] if number < len(folders) else (None, None)
        random = Random(f"{seed}-{number}")  # noqa: S311  (of acts, not of secrets)
        with httpx2.Client(base_url=url, timeout=REQUEST_TIMEOUT_S) as http:
            doors = [Doors(http, each, history, number) for each in shelves]
            clients = [
                Client(each, random, folder if each.shelf is shelf else None) for each in doors
            ]
            while not stop.is_set():
                random.choice(clients).act()

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(act, number) for number in range(count)]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not any(each.done() for each in running):
            time.sleep(0.1)
        stop.set()
        for each in running:
            each.result()
