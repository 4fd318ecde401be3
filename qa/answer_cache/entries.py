"""Answers in this process's memory, each with the version of the collection it was made from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from corpus.models import Version

if TYPE_CHECKING:
    from qa.answer_question import AnsweredQuestion

# The least PKB_RETENTION_DAYS: who has answers removed is given none of before again. What is older
# goes with the next question.
LONGEST_S = 86_400.0


class AnswerKey(NamedTuple):
    """What decides an answer beside the content of its collection.

    Attributes:
        question: With one space for each white space.
        tags: Any of them must be on a chunk.
        k: Passages that the answer is made from.
        parts: What finds, reads, writes and proves; each is equal to itself alone, or by value.
        configuration_sha256: Of the settings and files in force.
        asker: For whom it was answered: nobody learns by its haste that another has asked it.
    """

    question: str
    collection_id: int
    tags: frozenset[str]
    k: int
    parts: tuple[object, ...]
    configuration_sha256: str
    asker: str


class _Entry(NamedTuple):
    version: Version
    answered: AnsweredQuestion
    kept_at: float


class AnswerCache:
    """The answers that were given last, up to a number; threads may share it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[AnswerKey, _Entry] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def collection_ids(self) -> set[int]:
        with self._lock:
            return {key.collection_id for key in self._entries}

    def keep_only(self, versions: Mapping[int, Version]) -> None:
        """Drop what is of another version of its collection than this one, and what is too old."""
        oldest = monotonic() - LONGEST_S
        with self._lock:
            for key, entry in list(self._entries.items()):
                if entry.version != versions.get(key.collection_id) or entry.kept_at < oldest:
                    del self._entries[key]

    def find(self, key: AnswerKey, version: Version) -> AnsweredQuestion | None:
        """Return the answer that was made from this version."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.version != version:
                return None
            self._entries.move_to_end(key)
            return entry.answered

    def keep(
        self, key: AnswerKey, version: Version, answered: AnsweredQuestion, *, most: int
    ) -> None:
        """Keep an answer, and of all at most so many, those that were asked for last."""
        with self._lock:
            self._entries[key] = _Entry(version, answered, monotonic())
            self._entries.move_to_end(key)
            while len(self._entries) > most:
                self._entries.popitem(last=False)

    def drop(self, key: AnswerKey) -> None:
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
